/**
 * Every refusal of the sandbox: status, code and message in both languages. The interface shows the form of an error
 * (`{code, message}`, section 7) but no list of codes, so codes and statuses other than 429 are specific to the
 * sandbox. A client that depends on one of these codes depends on the sandbox, not on the platform.
 */
import type { Language } from "#fleet/profile.ts";

/** Status, code and English message, by name. */
export const refusals = {
  pathUnknown: [404, "SBX0404", "There is no operation at this path."],
  methodUnknown: [405, "SBX0405", "The path is known, but not with this method."],
  bodyNotJson: [400, "SBX0001", "The request body is not a JSON object."],
  bodyTooLarge: [413, "SBX0413", "The request body is too large."],
  bodyTypeWrong: [415, "SBX0415", "A request with a body needs the header Content-Type: application/json."],
  throttled: [
    429,
    "SBX0429",
    "Too many requests: the rate limit of this API group is spent until the period refreshes.",
  ],
  faulty: [500, "SBX0500", "The server failed while it handled the call."],
  simUnknown: [404, "SIM0001", "There is no such SIM."],
  speedClassMissing: [400, "SIM0002", "The field speedClass is required and must be a string."],
  speedClassUnknown: [400, "SIM0003", "The speed class is not one that this SIM can have."],
  cursorUnknown: [400, "SIM0004", "The value of last_evaluated_key is not a key that this operation gave out."],
  limitInvalid: [400, "SIM0005", "The query parameter limit must be a whole number, 1 or more."],
  simTerminated: [400, "SIM0006", "The SIM is terminated and can no longer be changed."],
  transitionRefused: [400, "SIM0007", "The SIM's present status does not allow this status."],
  statusNotOffered: [400, "SIM0008", "The subscription of this SIM does not have this status."],
  terminationProtected: [400, "SIM0009", "The SIM is protected from being terminated; enable its termination first."],
  tagsInvalid: [400, "SIM0010", "Tags are an array of {tagName, tagValue}, both strings, and a tag needs a name."],
  tagUnknown: [404, "SIM0011", "The SIM has no such tag."],
  expiryInvalid: [400, "SIM0012", "An expiry needs expiryTime in epoch milliseconds and a known expiryAction."],
  expiryMissing: [404, "SIM0013", "The SIM has no expiry."],
  imeiInvalid: [400, "SIM0014", "An IMEI has 15 digits."],
  imeiUnknown: [400, "SIM0015", "The SIM is offline: without a session, imei is required."],
  simOffline: [400, "SEM0016", "The SIM has no session."],
  messageInvalid: [
    400,
    "SIM0017",
    "An SMS needs a payload and encodingType 1 (at most 160 characters) or 2 (at most 70).",
  ],
  pingInvalid: [400, "SIM0018", "numberOfPingRequests and timeoutSeconds must be whole numbers, 1 or more."],
  bundlesInvalid: [400, "SIM0019", "Bundles are an array of names, each once."],
  historyQueryInvalid: [
    400,
    "SIM0020",
    "from and to are epoch milliseconds, sort is asc or desc, and limit is 1 to 100.",
  ],
  groupIdMissing: [400, "SIM0021", "The field groupId is required and must be a string."],
  pairMissing: [401, "AUM0001", "The API key and the token headers are both required."],
  pairInvalid: [401, "AUM0002", "The API key and token are not a valid pair."],
  pairExpired: [401, "AUM0003", "The API key and token pair has expired; authenticate again."],
  coverageMismatch: [403, "AUM0004", "The operator's coverage types do not match this address."],
  authVariant: [
    400,
    "AUM0010",
    "Send exactly one of: email and password; operatorId, userName and password; authKeyId and authKey.",
  ],
  authFailed: [401, "AUM0011", "The credentials are not correct."],
  mfaRequired: [401, "AUM0012", "Multi-factor authentication is enabled: mfaOTPCode is required."],
  mfaFailed: [401, "AUM0013", "The one-time password is not correct."],
  ttlOutOfBounds: [400, "AUM0014", "The lifetime of the token must be a whole number of seconds from 180 to 172800."],
  renewalTooLate: [400, "AUM0015", "The API key and token pair has expired and cannot be renewed; authenticate again."],
  operatorForeign: [403, "AUM0020", "The pair is not of this operator."],
  keysForbidden: [403, "AUM0021", "The sub-user may not manage these AuthKeys."],
  userUnknown: [404, "AUM0022", "There is no such sub-user."],
  authKeyUnknown: [404, "AUM0023", "There is no such AuthKey."],
  authKeyLimit: [400, "AUM0024", "The user holds two AuthKeys already; revoke one first."],
  credentialInvalid: [
    400,
    "CRE0001",
    "A Credential Set needs an ID of letters, digits, dots, hyphens and underscores, a type and the credentials of that type.",
  ],
  credentialDuplicate: [409, "CRE0002", "A Credential Set with this ID exists already."],
  credentialLimit: [400, "CRE0003", "The account holds the maximum number of Credential Sets."],
  credentialUnknown: [404, "CRE0004", "There is no such Credential Set."],
  groupUnknown: [404, "GRP0001", "There is no such group."],
  configurationInvalid: [
    400,
    "GRP0002",
    "A configuration is an array of {key, value}, in a namespace of letters and digits.",
  ],
  matchModeUnknown: [400, "GRP0003", "tag_value_match_mode must be exact or prefix."],
} as const;

export type RefusalName = keyof typeof refusals;

const japanese: Readonly<Record<RefusalName, string>> = {
  pathUnknown: "このパスに操作はありません。",
  methodUnknown: "このパスでは使用できないメソッドです。",
  bodyNotJson: "リクエストボディが JSON オブジェクトではありません。",
  bodyTooLarge: "リクエストボディが大きすぎます。",
  bodyTypeWrong: "ボディのあるリクエストには Content-Type: application/json ヘッダーが必要です。",
  throttled: "リクエストが多すぎます。この API グループの上限に達しました。期間の更新までお待ちください。",
  faulty: "サーバーで処理に失敗しました。",
  simUnknown: "指定された SIM は存在しません。",
  speedClassMissing: "speedClass は必須の文字列です。",
  speedClassUnknown: "この SIM では使用できない速度クラスです。",
  cursorUnknown: "last_evaluated_key の値が正しくありません。",
  limitInvalid: "limit は 1 以上の整数で指定してください。",
  simTerminated: "この SIM は解約済みのため変更できません。",
  transitionRefused: "現在のステータスからは変更できません。",
  statusNotOffered: "この SIM のサブスクリプションでは使用できないステータスです。",
  terminationProtected: "解約プロテクションが有効です。先に解約を許可してください。",
  tagsInvalid: "タグは {tagName, tagValue} の配列で、いずれも文字列で指定してください。",
  tagUnknown: "指定されたタグはこの SIM に存在しません。",
  expiryInvalid: "expiryTime はエポックミリ秒、expiryAction は定義された値で指定してください。",
  expiryMissing: "この SIM には有効期限が設定されていません。",
  imeiInvalid: "IMEI は 15 桁の数字で指定してください。",
  imeiUnknown: "SIM がオフラインのため、imei の指定が必要です。",
  simOffline: "この SIM のセッションは存在しません。",
  messageInvalid: "payload と、encodingType 1（160 文字以内）または 2（70 文字以内）を指定してください。",
  pingInvalid: "numberOfPingRequests と timeoutSeconds は 1 以上の整数で指定してください。",
  bundlesInvalid: "バンドルは重複のない名前の配列で指定してください。",
  historyQueryInvalid: "from と to はエポックミリ秒、sort は asc または desc、limit は 1 から 100 で指定してください。",
  groupIdMissing: "groupId は必須の文字列です。",
  pairMissing: "API キーとトークンの両方のヘッダーが必要です。",
  pairInvalid: "API キーとトークンの組が正しくありません。",
  pairExpired: "API キーとトークンの有効期限が切れています。再度認証してください。",
  coverageMismatch: "オペレーターのカバレッジタイプがこのアドレスと一致しません。",
  authVariant:
    "email と password、operatorId と userName と password、authKeyId と authKey のいずれか一組だけを指定してください。",
  authFailed: "認証情報が正しくありません。",
  mfaRequired: "多要素認証が有効です。mfaOTPCode が必要です。",
  mfaFailed: "ワンタイムパスワードが正しくありません。",
  ttlOutOfBounds: "トークンの有効期間は 180 から 172800 までの整数（秒）で指定してください。",
  renewalTooLate: "API キーとトークンの有効期限が切れているため更新できません。再度認証してください。",
  operatorForeign: "API キーとトークンがこのオペレーターのものではありません。",
  keysForbidden: "この SAM ユーザーにはこれらの AuthKey を管理する権限がありません。",
  userUnknown: "指定された SAM ユーザーは存在しません。",
  authKeyUnknown: "指定された AuthKey は存在しません。",
  authKeyLimit: "AuthKey は 2 つまでです。先に 1 つ削除してください。",
  credentialInvalid: "認証情報には、英数字と . - _ からなる ID、type、その type に応じた credentials が必要です。",
  credentialDuplicate: "この ID の認証情報はすでに存在します。",
  credentialLimit: "認証情報の登録数が上限に達しています。",
  credentialUnknown: "指定された認証情報は存在しません。",
  groupUnknown: "指定されたグループは存在しません。",
  configurationInvalid: "設定は {key, value} の配列で、namespace は英数字で指定してください。",
  matchModeUnknown: "tag_value_match_mode は exact または prefix で指定してください。",
};

/** A call that the sandbox refuses; becomes a response in the caller's language. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly #name: RefusalName;

  constructor(name: RefusalName) {
    const [status, code, message] = refusals[name];
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.#name = name;
  }

  /** The body of the response. */
  bodyIn(language: Language): { readonly code: string; readonly message: string } {
    return { code: this.code, message: language === "ja" ? japanese[this.#name] : this.message };
  }
}
