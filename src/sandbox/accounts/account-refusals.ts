/** The refusals about accounts: pairs, AuthKeys, Credential Sets and groups. */
export interface RefusalFacts {
  readonly status: number;
  readonly code: string;
  readonly en: string;
  readonly ja: string;
}

export const accountRefusals = {
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
  renewalTooLate: {
    status: 400,
    code: "AUM0015",
    en: "The API key and token pair has expired and cannot be renewed; authenticate again.",
    ja: "API キーとトークンの有効期限が切れているため更新できません。再度認証してください。",
  },
  operatorForeign: {
    status: 403,
    code: "AUM0020",
    en: "The pair is not of this operator.",
    ja: "API キーとトークンがこのオペレーターのものではありません。",
  },
  keysForbidden: {
    status: 403,
    code: "AUM0021",
    en: "The sub-user may not manage these AuthKeys.",
    ja: "この SAM ユーザーにはこれらの AuthKey を管理する権限がありません。",
  },
  userUnknown: {
    status: 404,
    code: "AUM0022",
    en: "There is no such sub-user.",
    ja: "指定された SAM ユーザーは存在しません。",
  },
  authKeyUnknown: {
    status: 404,
    code: "AUM0023",
    en: "There is no such AuthKey.",
    ja: "指定された AuthKey は存在しません。",
  },
  authKeyLimit: {
    status: 400,
    code: "AUM0024",
    en: "The user holds two AuthKeys already; revoke one first.",
    ja: "AuthKey は 2 つまでです。先に 1 つ削除してください。",
  },
  credentialInvalid: {
    status: 400,
    code: "CRE0001",
    en: "A Credential Set needs an ID of letters, digits, dots, hyphens and underscores, a type and the credentials of that type.",
    ja: "認証情報には、英数字と . - _ からなる ID、type、その type に応じた credentials が必要です。",
  },
  credentialDuplicate: {
    status: 409,
    code: "CRE0002",
    en: "A Credential Set with this ID exists already.",
    ja: "この ID の認証情報はすでに存在します。",
  },
  credentialLimit: {
    status: 400,
    code: "CRE0003",
    en: "The account holds the maximum number of Credential Sets.",
    ja: "認証情報の登録数が上限に達しています。",
  },
  credentialUnknown: {
    status: 404,
    code: "CRE0004",
    en: "There is no such Credential Set.",
    ja: "指定された認証情報は存在しません。",
  },
  groupUnknown: {
    status: 404,
    code: "GRP0001",
    en: "There is no such group.",
    ja: "指定されたグループは存在しません。",
  },
  configurationInvalid: {
    status: 400,
    code: "GRP0002",
    en: "A configuration is an array of {key, value}, in a namespace of letters and digits.",
    ja: "設定は {key, value} の配列で、namespace は英数字で指定してください。",
  },
  matchModeUnknown: {
    status: 400,
    code: "GRP0003",
    en: "tag_value_match_mode must be exact or prefix.",
    ja: "tag_value_match_mode は exact または prefix で指定してください。",
  },
} as const satisfies Record<string, RefusalFacts>;
