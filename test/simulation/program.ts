/**
 * The simulation of the limiter as one program in Lua: the real bucket.lua on a store in memory (store.lua), with a
 * virtual clock. It runs in LuaJIT, or in a script of Redis.
 */
import { readFileSync } from "node:fs";
import { bucketScriptParts } from "#limiter/limiter.ts";

const parts = ["world", "platform", "process", "schedule", "neighbors", "summary"];
const read = (file: URL): string => readFileSync(file, "utf8");

/** Returns the functions of summary.lua. */
export const simulationProgram = `
local LEASE_MS = 8000
local store = (function()
${read(new URL("./store.lua", import.meta.url))}
end)()
local redis = { call = store.call }
local function bucket(KEYS, ARGV)
${bucketScriptParts.map(read).join("\n")}
end
${parts.map((part) => read(new URL(`./${part}.lua`, import.meta.url))).join("\n")}
`;
