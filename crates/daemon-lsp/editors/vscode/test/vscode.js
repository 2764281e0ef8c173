// The parts of the module `vscode` that the language client uses, in memory: an editor with open documents and no window.
'use strict';

/** A class whose instances have every property: for classes that the client only extends. */
function anyClass() {
  return class {};
}

const nothing = { dispose() {} };
const never = () => nothing;

/** Creates an event of the editor. */
function event() {
  const listeners = new Set();
  const on = (listener) => {
    listeners.add(listener);
    return { dispose: () => listeners.delete(listener) };
  };
  const fire = async (value) => Promise.all([...listeners].map((listener) => listener(value)));
  return { on, fire };
}

class Position {
  constructor(line, character) {
    this.line = line;
    this.character = character;
  }
}

class Range {
  constructor(...places) {
    const [start, end] = places.length === 4
      ? [new Position(places[0], places[1]), new Position(places[2], places[3])]
      : places;
    this.start = start;
    this.end = end;
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    this.range = range;
    this.message = message;
    this.severity = severity;
  }
}

class CodeActionKind {
  static Empty = new CodeActionKind('');
  static QuickFix = new CodeActionKind('quickfix');

  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value === '' ? part : `${this.value}.${part}`);
  }
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: never };
  cancel() {}
  dispose() {}
}

class EventEmitter {
  #event = event();
  event = this.#event.on;
  fire(value) {
    void this.#event.fire(value);
  }
  dispose() {}
}

/** Returns an object that has every property; a missing one is a class, so that it can be extended and called. */
function open(known) {
  return new Proxy(known, {
    get(target, name) {
      if (!(name in target)) {
        target[name] = anyClass();
      }
      return target[name];
    },
  });
}

/** Returns an object whose missing properties are functions that register nothing. */
function registry(known) {
  return new Proxy(known, { get: (target, name) => (name in target ? target[name] : never) });
}

/**
 * Creates the module.
 *
 * @param {{ settings: Record<string, unknown>, documents: object[] }} state
 */
function create(state) {
  const events = { open: event(), change: event(), configuration: event() };
  const shown = new Map();
  const waiting = [];
  const errors = [];
  const commands = new Map();
  const uri = (text) => {
    const parsed = new URL(text);
    return { scheme: 'file', fsPath: decodeURIComponent(parsed.pathname), path: parsed.pathname, toString: () => text };
  };
  const output = registry({});
  const module = open({
    CancellationTokenSource,
    CodeActionKind,
    Diagnostic,
    EventEmitter,
    Position,
    Range,
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    Disposable: class { constructor(dispose) { this.dispose = dispose ?? (() => {}); } },
    Uri: { parse: uri, file: (path) => uri(`file://${path}`) },
    env: { appName: 'test', language: 'en', openExternal: never },
    version: '1.140.0',
    extensions: { getExtension: () => undefined, all: [], onDidChange: never },
    commands: registry({
      registerCommand(name, run) {
        commands.set(name, run);
        return { dispose: () => commands.delete(name) };
      },
    }),
    languages: registry({
      match: (selector, document) => [selector].flat().some((one) => one.pattern === undefined || /\.agents\/daemons\/[^/]+\/DAEMON\.md$/.test(document.uri.path)) ? 10 : 0,
      createDiagnosticCollection: () => ({
        set(at, found) {
          shown.set(at.toString(), found);
          waiting.splice(0).forEach((resolve) => resolve());
        },
        delete: (at) => shown.delete(at.toString()),
        clear: () => shown.clear(),
        dispose() {},
      }),
    }),
    window: registry({
      visibleTextEditors: [],
      tabGroups: { all: [], onDidChangeTabs: never, onDidChangeTabGroups: never },
      createOutputChannel: () => output,
      showErrorMessage: async (text) => void errors.push(text),
      showWarningMessage: async () => undefined,
      showInformationMessage: async () => undefined,
    }),
    workspace: registry({
      get textDocuments() { return state.documents; },
      notebookDocuments: [],
      workspaceFolders: undefined,
      getConfiguration: (section) => ({
        get: (name, otherwise) => state.settings[section ? `${section}.${name}` : name] ?? otherwise,
        inspect: () => undefined,
      }),
      onDidOpenTextDocument: events.open.on,
      onDidChangeTextDocument: events.change.on,
      onDidChangeConfiguration: events.configuration.on,
    }),
  });
  return {
    module,
    commands,
    errors,
    events,
    /** Waits for the diagnostics of a document to satisfy a condition, and returns them. */
    async diagnostics(at, holds) {
      while (!shown.has(at) || !holds(shown.get(at))) {
        await new Promise((resolve) => waiting.push(resolve));
      }
      return shown.get(at);
    },
    document(at, text) {
      return {
        uri: uri(at),
        fileName: uri(at).fsPath,
        languageId: 'markdown',
        version: 1,
        isClosed: false,
        isDirty: false,
        lineCount: text.split('\n').length,
        getText: () => text,
      };
    },
  };
}

module.exports = { create };
