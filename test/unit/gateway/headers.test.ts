import { describe, expect, it } from "vitest";
import { callerNames } from "#gateway/gateway.ts";
import { answerHeaders, requestHeaders } from "#gateway/headers.ts";

describe("the headers of a call through the gateway", () => {
  const allKinds = [
    ["Host", "127.0.0.1:8081"],
    ["Authorization", "Bearer x"],
    ["Cookie", "a=b"],
    ["X-Svc-API-Key", "k"],
    ["X-Svc-Token", "t"],
    ["x-other-token", "t"],
    ["X-Simfleet-Caller", "ci"],
    ["Connection", "keep-alive, X-Hop"],
    ["X-Hop", "1"],
    ["TE", "trailers"],
    ["Transfer-Encoding", "chunked"],
    ["Expect", "100-continue"],
    ["Proxy-Authorization", "Basic x"],
    ["Accept", "application/json"],
    ["Accept-Encoding", "gzip"],
    ["X-HTTP-Method-Override", "DELETE"],
    ["X-HTTP-Method", "DELETE"],
    ["x-method-override", "DELETE"],
    ["X-Svc-Lang", "ja"],
    ["Content-Length", "7"],
  ].map(([name = "", value = ""]) => [name.toLowerCase(), [value]]);

  // Shows S6.
  it("credentials, other methods and headers of the connection do not pass", () => {
    const passed = ["accept", "application/json", "x-svc-lang", "ja", "content-length", "7"];
    expect(requestHeaders(Object.fromEntries(allKinds))).toEqual(passed);
  });

  it("an answer keeps its headers except for those of the connection, of a pair and of a session", () => {
    const headers = {
      connection: "close, x-hop",
      "x-hop": "1",
      "transfer-encoding": "chunked",
      "x-svc-token": "t",
      "x-svc-next-key": "k",
      location: "https://elsewhere.example.com/",
      "set-cookie": ["a", "b"],
    };
    expect(answerHeaders(headers)).toEqual({
      "x-svc-next-key": "k",
      location: "https://elsewhere.example.com/",
    });
  });

  it("a value of an answer keeps its bytes, whatever they are", () => {
    const [name, link] = [Buffer.from("日本").toString("latin1"), Buffer.from("\u00e9").toString("latin1")];
    expect(answerHeaders({ "x-name": "日本", link: ["<a>", "\u00e9"] })).toEqual({
      "x-name": name,
      link: ["<a>", link],
    });
  });
});

describe("the names of callers", () => {
  it("a caller is named by its header, or else by the product of its user agent", () => {
    const callers = callerNames();
    expect(callers({ "x-simfleet-caller": "nightly job\n1", "user-agent": "curl/8.5.0" })).toBe("nightly-job-1");
    expect(callers({ "user-agent": "soracom-cli/1.2 (linux)" })).toBe("soracom-cli");
    expect(callers({ "user-agent": "(none)" })).toBe("unknown");
    expect(callers({})).toBe("unknown");
    expect(callers({ "x-simfleet-caller": "x".repeat(100) })).toBe("x".repeat(40));
  });

  it("the 51st name and all later ones are counted as other", () => {
    const callers = callerNames();
    const nameOf = (n: number): string => callers({ "x-simfleet-caller": `c${n}` });
    const names = Array.from({ length: 60 }, (_, n) => nameOf(n));
    expect(names.slice(49, 52)).toEqual(["c49", "other", "other"]);
    expect(nameOf(7)).toBe("c7");
  });
});
