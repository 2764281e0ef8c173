// A session over `vscode-jsonrpc` and `vscode-languageserver-protocol`, the client that editors use.
'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { performance } = require('node:perf_hooks');
const test = require('node:test');
const protocol = require('vscode-languageserver-protocol/node');
const { server } = require('../src/options');
const { OPTIMISED, PROGRAM, TEXT, world } = require('./program');

/** The size of the file whose changes are timed, in bytes. */
const SIZE = 64 * 1024;
const CHANGES = 200;
/** In milliseconds. */
const MOST_P95 = 30;

/** An editor with one open document. */
class Session {
  constructor(here, program = PROGRAM) {
    this.here = here;
    const run = server((name) => ({ 'server.path': program, 'server.home': here.home })[name]);
    this.child = spawn(run.command, run.args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.ended = new Promise((resolve, reject) => {
      this.child.on('exit', resolve);
      this.child.on('error', reject);
    });
    this.connection = protocol.createProtocolConnection(
      new protocol.StreamMessageReader(this.child.stdout),
      new protocol.StreamMessageWriter(this.child.stdin),
    );
    this.waiting = new Map();
    this.connection.onNotification(protocol.PublishDiagnosticsNotification.type, (params) => {
      this.waiting.get(params.version)?.(params.diagnostics);
      this.waiting.delete(params.version);
    });
    this.connection.listen();
    this.version = 0;
  }

  async open(text) {
    const initialized = await this.connection.sendRequest(protocol.InitializeRequest.type, {
      processId: process.pid,
      rootUri: null,
      capabilities: { textDocument: { publishDiagnostics: { versionSupport: true } } },
    });
    await this.connection.sendNotification(protocol.InitializedNotification.type, {});
    const found = this.found();
    const { uri } = this.here;
    await this.connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
      textDocument: { uri, languageId: 'markdown', version: this.version, text },
    });
    return { capabilities: initialized.capabilities, found: await found };
  }

  async change(text) {
    const found = this.found();
    await this.connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
      textDocument: { uri: this.here.uri, version: this.version },
      contentChanges: [{ text }],
    });
    return found;
  }

  /** Returns a promise of the diagnostics of the next version. */
  found() {
    this.version += 1;
    return new Promise((resolve) => this.waiting.set(this.version, resolve));
  }

  async end() {
    await this.connection.sendRequest(protocol.ShutdownRequest.type);
    await this.connection.sendNotification(protocol.ExitNotification.type);
    assert.equal(await this.ended, 0);
    this.connection.dispose();
    this.here.remove();
  }
}

test('problems have fixes, and are gone when a fix is applied', async () => {
  const session = new Session(world());
  const { capabilities, found } = await session.open(TEXT);
  assert.deepEqual(found.map((one) => one.code), ['D201']);
  assert.equal(capabilities.textDocumentSync.change, protocol.TextDocumentSyncKind.Full);
  const textDocument = { uri: session.here.uri };
  const actions = await session.connection.sendRequest(protocol.CodeActionRequest.type, {
    textDocument,
    range: found[0].range,
    context: { diagnostics: found },
  });
  assert.equal(actions[0].kind, protocol.CodeActionKind.QuickFix);
  const [edit] = actions[0].edit.changes[session.here.uri];
  const lines = TEXT.split('\n');
  const { start, end } = edit.range;
  assert.equal(start.line, end.line);
  const line = lines[start.line];
  lines[start.line] = line.slice(0, start.character) + edit.newText + line.slice(end.character);
  assert.deepEqual(await session.change(lines.join('\n')), []);
  const hover = await session.connection.sendRequest(protocol.HoverRequest.type, {
    textDocument,
    position: { line: 4, character: 10 },
  });
  assert.match(hover.contents.value, /wakes on\n- `github pull_request.opened` where `author_kind is bot`/);
  await session.end();
});

test(`the diagnostics of a change are shown within ${MOST_P95} ms in a file of 64 KiB`, async (context) => {
  if (OPTIMISED === undefined) {
    context.skip('no DAEMON_LSP, a server that was built with --release');
    return;
  }
  const session = new Session(world(), OPTIMISED);
  let text = TEXT;
  while (text.length < SIZE) {
    text += '- The pages in `docs/` keep their links, and say why a link was changed.\n';
  }
  await session.open(text);
  const times = [];
  for (let typed = 1; typed <= CHANGES; typed += 1) {
    // Each change types one letter into a condition, which is interpreted again.
    const words = 'when a pull request is opened by a bot';
    const changed = text.replace(words, words.slice(0, 1 + (typed % words.length)));
    const begun = performance.now();
    await session.change(changed);
    times.push(performance.now() - begun);
  }
  await session.end();
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.floor(times.length * share)];
  const shown = (time) => `${time.toFixed(1)} ms`;
  context.diagnostic(`${CHANGES} changes: median ${shown(at(0.5))}, p95 ${shown(at(0.95))}, most ${shown(times.at(-1))}`);
  assert.ok(at(0.95) <= MOST_P95, `p95 is ${shown(at(0.95))}`);
});
