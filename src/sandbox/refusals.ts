/**
 * Every rejection of the sandbox: status, code and message. The interface shows the form of an error (`{code,
 * message}`, section 7) but no list of codes, so codes and statuses other than 429 are the sandbox's own: a client that
 * depends on one depends on the sandbox, not on the platform. In Japanese, each status has one message.
 */
import type { Language } from "#fleet/profile.ts";

/** Status, code and English message, by name. */
export const refusals = {
  pathUnknown: [404, "SBX0404", "There is no operation at this path."],
  methodUnknown: [405, "SBX0405", "The path is known, but not with this method."],
  bodyNotJson: [400, "SBX0001", "The request body is not a JSON object."],
  bodyTooLarge: [413, "SBX0413", "The request body is too large."],
  bodyTypeWrong: [415, "SBX0415", "A request with a body needs the header Content-Type: application/json."],
  throttled: [429, "SBX0429", "Too many requests: the limit of this API group is spent until the refresh."],
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
  messageInvalid: [400, "SIM0017", "An SMS needs a payload and encodingType: 1 for up to 160 characters, 2 for 70."],
  pingInvalid: [400, "SIM0018", "numberOfPingRequests and timeoutSeconds must be whole numbers, 1 or more."],
  bundlesInvalid: [400, "SIM0019", "Bundles are an array of names, each once."],
  groupIdMissing: [400, "SIM0021", "The field groupId is required and must be a string."],
  exportInvalid: [
    400,
    "STA0001",
    "An export needs from before to, at most 18 months ago, and the period day or month.",
  ],
  exportUnknown: [404, "STA0002", "There is no such exported file."],
  pairMissing: [401, "AUM0001", "The API key and the token headers are both required."],
  pairInvalid: [401, "AUM0002", "The API key and token are not a valid pair."],
  pairExpired: [401, "AUM0003", "The API key and token pair has expired; authenticate again."],
  coverageMismatch: [403, "AUM0004", "The operator's coverage types do not match this address."],
  authVariant: [400, "AUM0010", "Send exactly one complete form of credentials, and no part of another."],
  authFailed: [401, "AUM0011", "The credentials are not correct."],
  mfaRequired: [401, "AUM0012", "Multi-factor authentication is enabled: mfaOTPCode is required."],
  mfaFailed: [401, "AUM0013", "The one-time password is not correct."],
  ttlOutOfBounds: [400, "AUM0014", "The lifetime of the token must be a whole number of seconds from 180 to 172800."],
  renewalTooLate: [400, "AUM0015", "The API key and token pair has expired and cannot be renewed; authenticate again."],
  operatorForeign: [403, "AUM0020", "The pair is not of this operator."],
  keysForbidden: [403, "AUM0021", "The sub-user may not manage these AuthKeys."],
  userUnknown: [404, "AUM0022", "There is no such sub-user."],
  authKeyUnknown: [404, "AUM0023", "There is no such AuthKey."],
  authKeyLimit: [400, "AUM0024", "The user already has two AuthKeys; revoke one first."],
  credentialInvalid: [400, "CRE0001", "A Credential Set needs a valid ID, a type and the credentials of that type."],
  credentialDuplicate: [409, "CRE0002", "A Credential Set with this ID exists already."],
  credentialLimit: [400, "CRE0003", "The account has the maximum number of Credential Sets."],
  credentialUnknown: [404, "CRE0004", "There is no such Credential Set."],
  groupUnknown: [404, "GRP0001", "There is no such group."],
  configurationInvalid: [400, "GRP0002", "A configuration is an array of {key, value} in a plain namespace."],
} as const;

export type RefusalName = keyof typeof refusals;

const japanese: Readonly<Record<(typeof refusals)[RefusalName][0], string>> = {
  400: "リクエストの内容が正しくありません。",
  401: "認証情報が正しくないか、有効期限が切れています。",
  403: "この操作を行う権限がありません。",
  404: "指定された対象は存在しません。",
  405: "このパスでは使用できないメソッドです。",
  409: "指定された対象はすでに存在します。",
  413: "リクエストボディが大きすぎます。",
  415: "ボディのあるリクエストには Content-Type: application/json ヘッダーが必要です。",
  429: "リクエストが多すぎます。この API グループの上限に達しました。期間の更新までお待ちください。",
  500: "サーバーで処理に失敗しました。",
};

/** A call that the sandbox rejects; becomes a response in the caller's language. */
export class Refusal extends Error {
  readonly status: keyof typeof japanese;
  readonly code: string;

  constructor(name: RefusalName) {
    const [status, code, message] = refusals[name];
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
  }

  /** The body of the response. */
  bodyIn(language: Language): { readonly code: string; readonly message: string } {
    return { code: this.code, message: language === "ja" ? japanese[this.status] : this.message };
  }
}
