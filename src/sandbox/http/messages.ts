/**
 * Every refusal of the sandbox: status, code and message in both languages. The interface shows the form of an error
 * (`{code, message}`, section 7) but no list of codes, so codes and statuses other than 429 are specific to the
 * sandbox. A client that depends on one of these codes depends on the sandbox, not on the platform.
 */
import type { Language } from "#fleet/profile.ts";
import { accountRefusals, type RefusalFacts } from "../accounts/account-refusals.ts";
import { simRefusals } from "../sims/sim-refusals.ts";

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
  ...simRefusals,
  ...accountRefusals,
} as const satisfies Record<string, RefusalFacts>;

export type RefusalName = keyof typeof refusals;

/** A call that the sandbox refuses; becomes a response in the caller's language. */
export class Refusal extends Error {
  readonly facts: RefusalFacts;

  constructor(name: RefusalName) {
    super(refusals[name].en);
    this.name = "Refusal";
    this.facts = refusals[name];
  }
}

/** The body of an error response. */
export function errorBody(facts: RefusalFacts, language: Language): string {
  return JSON.stringify({ code: facts.code, message: facts[language] });
}
