// Speaks to `daemon-run mcp` with the TypeScript SDK: lists, calls and reads everything once, and prints what it saw.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [program, home, directory] = process.argv.slice(2);
const transport = new StdioClientTransport({
  command: program,
  args: ["--home", home, "-C", directory, "mcp"],
  env: { PATH: process.env.PATH, HOME: home },
});
const client = new Client({ name: "typescript-sdk", version: "1" });
await client.connect(transport);

const { tools } = await client.listTools();
console.log(`tools: ${tools.map((tool) => tool.name).join(" ")}`);
assert(tools.some((tool) => tool.name === "daemon"));

const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  assert.notEqual(result.isError, true, JSON.stringify(result.content));
  return result.structuredContent;
};

const next = await call("next", { cron: "0 9 * * 1-5", from: "2026-11-21T00:00:00Z", n: 1 });
assert.deepEqual(next.times, ["2026-11-23T09:00:00Z"]);

const dispatched = await call("daemon", {
  action: "emanate",
  backend: "builtin",
  tasks: [{ task: "Say which relative links are broken." }],
});
assert.equal(dispatched.status, "dispatched");
const [id] = dispatched.run_ids;
console.log(`dispatched: ${id} in ${dispatched.group_id}`);

let checked;
for (let looks = 0; looks < 100; looks++) {
  checked = await call("daemon", { action: "check", id });
  if (checked.status !== "running") break;
  await new Promise((wake) => setTimeout(wake, 200));
}
assert.equal(checked.status, "done", JSON.stringify(checked));
console.log(`checked: ${checked.status}, ${checked.events_total} events`);

const listed = await call("daemon", { action: "list", contains: id });
assert.equal(listed.total_matches, 1);
const runs = await call("runs", {});
console.log(`listed: ${listed.total_matches} emanation, ${runs.runs.length} runs`);

const { resources } = await client.listResources();
for (const { uri } of resources) {
  const { contents } = await client.readResource({ uri });
  assert(contents[0].text.startsWith("---\n"), uri);
}
console.log(`resources: ${resources.length} read`);
await client.close();
