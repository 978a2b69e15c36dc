/** The refusals about SIMs. */
import type { RefusalFacts } from "../accounts/account-refusals.ts";

export const simRefusals = {
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
  simTerminated: {
    status: 400,
    code: "SIM0006",
    en: "The SIM is terminated and can no longer be changed.",
    ja: "この SIM は解約済みのため変更できません。",
  },
  transitionRefused: {
    status: 400,
    code: "SIM0007",
    en: "The SIM's present status does not allow this status.",
    ja: "現在のステータスからは変更できません。",
  },
  statusNotOffered: {
    status: 400,
    code: "SIM0008",
    en: "The subscription of this SIM does not have this status.",
    ja: "この SIM のサブスクリプションでは使用できないステータスです。",
  },
  terminationProtected: {
    status: 400,
    code: "SIM0009",
    en: "The SIM is protected from being terminated; enable its termination first.",
    ja: "解約プロテクションが有効です。先に解約を許可してください。",
  },
  tagsInvalid: {
    status: 400,
    code: "SIM0010",
    en: "Tags are an array of {tagName, tagValue}, both strings, and a tag needs a name.",
    ja: "タグは {tagName, tagValue} の配列で、いずれも文字列で指定してください。",
  },
  tagUnknown: {
    status: 404,
    code: "SIM0011",
    en: "The SIM has no such tag.",
    ja: "指定されたタグはこの SIM に存在しません。",
  },
  expiryInvalid: {
    status: 400,
    code: "SIM0012",
    en: "An expiry needs expiryTime in epoch milliseconds and a known expiryAction.",
    ja: "expiryTime はエポックミリ秒、expiryAction は定義された値で指定してください。",
  },
  expiryMissing: {
    status: 404,
    code: "SIM0013",
    en: "The SIM has no expiry.",
    ja: "この SIM には有効期限が設定されていません。",
  },
  imeiInvalid: {
    status: 400,
    code: "SIM0014",
    en: "An IMEI has 15 digits.",
    ja: "IMEI は 15 桁の数字で指定してください。",
  },
  imeiUnknown: {
    status: 400,
    code: "SIM0015",
    en: "The SIM is offline: without a session, imei is required.",
    ja: "SIM がオフラインのため、imei の指定が必要です。",
  },
  simOffline: {
    status: 400,
    code: "SEM0016",
    en: "The SIM has no session.",
    ja: "この SIM のセッションは存在しません。",
  },
  messageInvalid: {
    status: 400,
    code: "SIM0017",
    en: "An SMS needs a payload and encodingType 1 (at most 160 characters) or 2 (at most 70).",
    ja: "payload と、encodingType 1（160 文字以内）または 2（70 文字以内）を指定してください。",
  },
  pingInvalid: {
    status: 400,
    code: "SIM0018",
    en: "numberOfPingRequests and timeoutSeconds must be whole numbers, 1 or more.",
    ja: "numberOfPingRequests と timeoutSeconds は 1 以上の整数で指定してください。",
  },
  bundlesInvalid: {
    status: 400,
    code: "SIM0019",
    en: "Bundles are an array of names, each once.",
    ja: "バンドルは重複のない名前の配列で指定してください。",
  },
  historyQueryInvalid: {
    status: 400,
    code: "SIM0020",
    en: "from and to are epoch milliseconds, sort is asc or desc, and limit is 1 to 100.",
    ja: "from と to はエポックミリ秒、sort は asc または desc、limit は 1 から 100 で指定してください。",
  },
  groupIdMissing: {
    status: 400,
    code: "SIM0021",
    en: "The field groupId is required and must be a string.",
    ja: "groupId は必須の文字列です。",
  },
} as const satisfies Record<string, RefusalFacts>;
