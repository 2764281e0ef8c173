// Tests `daemon-run mcp` with the TypeScript SDK: lists, calls and reads everything once, and prints the results.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import Ajv from "ajv";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [program, home, directory] = process.argv.slice(2);
const transport = new StdioClientTransport({
  command: program,
  args: ["--home", home, "-C", directory, "mcp"],
  env: { PATH: process.env.PATH, HOME: home },
});
const client = new Client({ name: "typescript-sdk", version: "1" });
const options = { timeout: 20_000 };
await client.connect(transport, options);

const { tools } = await client.listTools({}, options);
const ajv = new Ajv({ strict: false });
for (const { name, inputSchema } of tools) {
  assert.equal(inputSchema.type, "object", name);
  ajv.compile(inputSchema);
}
console.log(`tools: ${tools.length}, every schema compiles: ${tools.map((tool) => tool.name).join(" ")}`);
assert(tools.some((tool) => tool.name === "daemon"));

const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert.notEqual(result.isError, true, JSON.stringify(result.content));
  return result.structuredContent;
};
const refused = async (name, args) => {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert.equal(result.isError, true, JSON.stringify(result.content));
  return result.structuredContent.message;
};
const until = async (ask, isOver) => {
  for (let attempt = 0; attempt < 200; attempt++) {
    const seen = await ask();
    if (isOver(seen)) return seen;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  assert.fail("timed out");
};

const next = await call("next", { cron: "0 9 * * 1-5", from: "2026-11-21T00:00:00Z", n: 1 });
assert.deepEqual(next.times, ["2026-11-23T09:00:00Z"]);

const emanate = async (backend) => {
  const sent = await call("daemon", { action: "emanate", backend, tasks: [{ task: "Say it." }] });
  assert.equal(sent.status, "dispatched");
  return sent.run_ids[0];
};
const check = (id) => call("daemon", { action: "check", id });

const id = await emanate("echo");
const done = await until(() => check(id), (entry) => entry.status !== "running");
assert.equal(done.status, "done", JSON.stringify(done));
console.log(`emanate, check: ${done.status}, ${done.events_total} events, "${done.result_preview}"`);

const sent = await call("daemon", { action: "ask", id, message: "Again?" });
assert.equal(sent.status, "sent");
const asked = await until(() => check(id), (entry) => entry.followups?.[0]?.finished_at);
const [followup] = asked.followups;
assert.equal(followup.state, "done", JSON.stringify(followup));
const reply = readFileSync(followup.result_path, "utf8").trim();
assert.equal(reply, "again in s-1");
console.log(`ask: ${followup.state}, "${reply}"`);

const waiting = await emanate("waiter");
const reclaimed = await call("daemon", { action: "reclaim", id: waiting });
assert.deepEqual([reclaimed.status, reclaimed.cancelled], ["reclaimed", 1]);
const ended = await check(waiting);
assert.equal(ended.status, "cancelled");
console.log(`reclaim: ${reclaimed.cancelled} ${ended.status}`);

const listed = await call("daemon", { action: "list", contains: id });
assert.equal(listed.total_matches, 1);
const runs = await call("runs", {});
console.log(`list: ${listed.total_matches} emanation of ${listed.total_before_filter}, ${runs.runs.length} runs`);

for (const [args, message] of [
  [{ action: "emanate", tasks: [] }, "No tasks provided"],
  [{ action: "check", id: "em-99" }, "Unknown emanation: em-99"],
]) {
  assert.equal(await refused("daemon", args), message);
}
console.log("refused, each with its reason: no tasks, an unknown id");

const { resources } = await client.listResources({}, options);
for (const { uri } of resources) {
  const { contents } = await client.readResource({ uri }, options);
  assert(contents[0].text.startsWith("---\n"), uri);
}
assert(resources.length > 0);
console.log(`resources: ${resources.length} read: ${resources.map(({ uri }) => uri).join(" ")}`);
await client.close();
