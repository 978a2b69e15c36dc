/**
 * Every refusal of the sandbox: status, code and message in both languages. The interface shows the form of an error
 * (`{code, message}`, section 7) but no catalogue, so codes and statuses other than 429 are the sandbox's own. A client
 * that depends on one of these codes depends on the sandbox, not on the platform.
 */
import type { Language } from "#fleet/profile.ts";

export interface RefusalFacts {
  readonly status: number;
  readonly code: string;
  readonly en: string;
  readonly ja: string;
}

export const refusals = {
  pathUnknown: {
    status: 404,
    code: "SBX0404",
    en: "There is no operation at this path.",
    ja: "このパスに操作はありません。",
  },
  methodUnknown: {
    status: 405,
    code: "SBX0405",
    en: "The path is known, but not with this method.",
    ja: "このパスでは使用できないメソッドです。",
  },
  bodyNotJson: {
    status: 400,
    code: "SBX0001",
    en: "The request body is not a JSON object.",
    ja: "リクエストボディが JSON オブジェクトではありません。",
  },
  bodyTooLarge: {
    status: 413,
    code: "SBX0413",
    en: "The request body is too large.",
    ja: "リクエストボディが大きすぎます。",
  },
  bodyTypeWrong: {
    status: 415,
    code: "SBX0415",
    en: "A request with a body needs the header Content-Type: application/json.",
    ja: "ボディのあるリクエストには Content-Type: application/json ヘッダーが必要です。",
  },
  throttled: {
    status: 429,
    code: "SBX0429",
    en: "Too many requests: the rate limit of this API group is spent until the period refreshes.",
    ja: "リクエストが多すぎます。この API グループの上限に達しました。期間の更新までお待ちください。",
  },
  faulty: {
    status: 500,
    code: "SBX0500",
    en: "The server failed while it handled the call.",
    ja: "サーバーで処理に失敗しました。",
  },
  pairMissing: {
    status: 401,
    code: "AUM0001",
    en: "The API key and the token headers are both required.",
    ja: "API キーとトークンの両方のヘッダーが必要です。",
  },
  pairInvalid: {
    status: 401,
    code: "AUM0002",
    en: "The API key and token are not a valid pair.",
    ja: "API キーとトークンの組が正しくありません。",
  },
  pairExpired: {
    status: 401,
    code: "AUM0003",
    en: "The API key and token pair has expired; authenticate again.",
    ja: "API キーとトークンの有効期限が切れています。再度認証してください。",
  },
  coverageMismatch: {
    status: 403,
    code: "AUM0004",
    en: "The operator's coverage types do not match this address.",
    ja: "オペレーターのカバレッジタイプがこのアドレスと一致しません。",
  },
  authVariant: {
    status: 400,
    code: "AUM0010",
    en: "Send exactly one of: email and password; operatorId, userName and password; authKeyId and authKey.",
    ja: "email と password、operatorId と userName と password、authKeyId と authKey のいずれか一組だけを指定してください。",
  },
  authFailed: {
    status: 401,
    code: "AUM0011",
    en: "The credentials are not correct.",
    ja: "認証情報が正しくありません。",
  },
  mfaRequired: {
    status: 401,
    code: "AUM0012",
    en: "Multi-factor authentication is enabled: mfaOTPCode is required.",
    ja: "多要素認証が有効です。mfaOTPCode が必要です。",
  },
  mfaFailed: {
    status: 401,
    code: "AUM0013",
    en: "The one-time password is not correct.",
    ja: "ワンタイムパスワードが正しくありません。",
  },
  ttlOutOfBounds: {
    status: 400,
    code: "AUM0014",
    en: "The lifetime of the token must be a whole number of seconds from 180 to 172800.",
    ja: "トークンの有効期間は 180 から 172800 までの整数（秒）で指定してください。",
  },
  simUnknown: {
    status: 404,
    code: "SIM0001",
    en: "There is no such SIM.",
    ja: "指定された SIM は存在しません。",
  },
  speedClassMissing: {
    status: 400,
    code: "SIM0002",
    en: "The field speedClass is required and must be a string.",
    ja: "speedClass は必須の文字列です。",
  },
  speedClassUnknown: {
    status: 400,
    code: "SIM0003",
    en: "The speed class is not one that this SIM can have.",
    ja: "この SIM では使用できない速度クラスです。",
  },
  cursorUnknown: {
    status: 400,
    code: "SIM0004",
    en: "The value of last_evaluated_key is not a key that this operation gave out.",
    ja: "last_evaluated_key の値が正しくありません。",
  },
  limitInvalid: {
    status: 400,
    code: "SIM0005",
    en: "The query parameter limit must be a whole number, 1 or more.",
    ja: "limit は 1 以上の整数で指定してください。",
  },
  credentialInvalid: {
    status: 400,
    code: "CRE0001",
    en: "A Credential Set needs an id of letters, digits, dots, hyphens and underscores, a type and credentials.",
    ja: "認証情報には、英数字と . - _ からなる ID、type、credentials が必要です。",
  },
  credentialDuplicate: {
    status: 409,
    code: "CRE0002",
    en: "A Credential Set with this id exists already.",
    ja: "この ID の認証情報はすでに存在します。",
  },
  credentialLimit: {
    status: 400,
    code: "CRE0003",
    en: "The account holds the maximum number of Credential Sets.",
    ja: "認証情報の登録数が上限に達しています。",
  },
} as const satisfies Record<string, RefusalFacts>;

export type RefusalName = keyof typeof refusals;

/** A call that the sandbox turns down; becomes an answer in the caller's language. */
export class Refusal extends Error {
  readonly facts: RefusalFacts;

  constructor(name: RefusalName) {
    super(refusals[name].en);
    this.name = "Refusal";
    this.facts = refusals[name];
  }
}

/** The body of an error answer. */
export function errorBody(facts: RefusalFacts, language: Language): string {
  return JSON.stringify({ code: facts.code, message: facts[language] });
}
