import { expect, test } from "vitest";
import { hostCheck } from "#http/auth/access.ts";

const onLoopback = hostCheck({ host: "127.0.0.1", port: () => 8080, hosts: ["fleet.example.com", "10.0.0.5:8443"] });

test.each(["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080", "fleet.example.com", "10.0.0.5:8443"])(
  "a server on loopback accepts the host %s",
  (header) => {
    expect(onLoopback(header)).toBe(true);
  },
);

const strangers = [
  undefined,
  "",
  "evil.example.com",
  "evil.example.com:8080",
  "127.0.0.1",
  "127.0.0.1:8081",
  "127.0.0.1.evil.example.com:8080",
  "localhost.evil.example.com:8080",
  "evil@localhost:8080",
  "localhost:8080/x",
  "fleet.example.com:8080",
  "10.0.0.5",
];

test.each(strangers)("a server on loopback rejects the host %s", (header) => {
  expect(onLoopback(header)).toBe(false);
});

test("a server on other addresses accepts every host unless some are configured", () => {
  const open = hostCheck({ host: "0.0.0.0", port: () => 8080, hosts: [] });
  const listed = hostCheck({ host: "0.0.0.0", port: () => 8080, hosts: ["fleet.example.com"] });
  expect([open("anything"), open("10.1.2.3:8080")]).toEqual([true, true]);
  expect([listed("fleet.example.com"), listed("anything"), listed("localhost:8080")]).toEqual([true, false, true]);
});
