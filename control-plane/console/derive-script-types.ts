/**
 * Prints what the code editor completes from: names, signatures and first sentences of what scripts may use. They
 * come from the declarations of Playwright, from those of the messages to request scripts, and from the
 * newest runtime.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { factSource } from './fact-source.ts';
import type { Member, ScriptTypes } from './script-types.ts';

const root = join(import.meta.dirname, '..', '..');
const runtimes = join(root, 'agent', 'runtimes', 'locks');
const newest = readdirSync(runtimes).toSorted().at(-1) ?? '';

/** Where the walk through the declarations begins: each has the value of its name. */
const source = `
import { expect, test, chromium } from '@playwright/test';
import type * as playwright from '@playwright/test';
import type { ScriptedRequest, ScriptedResponse } from '../../agent/script-host/request-scripts/messages.ts';
type Named<T> = Omit<T, 'headers' | 'queryParameters'> & {
  /** By name; a list where a name occurs more than once. */
  headers: Record<string, string | string[]>;
  /** By name; a list where a name occurs more than once. */
  queryParameters: Record<string, string | string[]>;
};
export interface SetupRequest extends Named<ScriptedRequest> {}
export interface TeardownResponse extends ScriptedResponse {}
export const values = {} as {
  expect: typeof expect; test: typeof test; chromium: typeof chromium;
  page: playwright.Page; context: playwright.BrowserContext; browser: playwright.Browser;
  request: playwright.APIRequestContext; testInfo: playwright.TestInfo;
};
export const matchers = {
  Locator: expect({} as playwright.Locator), Page: expect({} as playwright.Page),
  APIResponse: expect({} as playwright.APIResponse), '': expect({} as unknown),
};
`;

const entry = join(import.meta.dirname, 'script-types-entry.ts');
const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  skipLibCheck: true,
  strict: true,
  types: ['node'],
  allowImportingTsExtensions: true,
  noEmit: true,
};
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists, readFile } = host;
host.getSourceFile = (name, ...rest) =>
  name === entry
    ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022, true)
    : getSourceFile.call(host, name, ...rest);
host.fileExists = (name) => name === entry || fileExists.call(host, name);
host.readFile = (name) => (name === entry ? source : readFile.call(host, name));
const program = ts.createProgram([entry], options, host);
const checker = program.getTypeChecker();
const opened = program.getSourceFile(entry);
if (opened === undefined) throw new Error('the entry cannot be read');
const problems = program.getSemanticDiagnostics(opened);
if (problems.length > 0)
  throw new Error(ts.formatDiagnostics(problems, { ...host, getNewLine: () => '\n' }));

const longestDoc = 140;
const longestType = 48;

/** The first sentence. */
function docOf(symbol: ts.Symbol): string {
  const text = ts
    .displayPartsToString(symbol.getDocumentationComment(checker))
    .replaceAll(/\*\*NOTE\*\*.*$/gms, '')
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const first = /^.*?[.](?=\s|$)/.exec(text)?.[0] ?? text;
  return first.length > longestDoc ? `${first.slice(0, longestDoc - 2)} …` : first;
}

const types: Record<string, Record<string, Member>> = {};
const waiting: [name: string, type: ts.Type][] = [];

function isOfPlaywright(symbol: ts.Symbol | undefined): symbol is ts.Symbol {
  const declared = symbol?.declarations?.[0]?.getSourceFile().fileName ?? '';
  return (
    /\/(playwright|playwright-core)\/types\/|\/request-scripts\//.test(declared) ||
    declared === entry
  );
}

/** The name under which the members of a type are listed; null for those of the language. */
function listed(given: ts.Type): string | null {
  const awaited = checker.getNonNullableType(checker.getAwaitedType(given) ?? given);
  const element = checker.isArrayType(awaited)
    ? (checker.getTypeArguments(awaited as ts.TypeReference)[0] ?? awaited)
    : awaited;
  const symbol = element.aliasSymbol ?? element.getSymbol();
  if (!isOfPlaywright(symbol) || symbol.name.startsWith('__')) return null;
  if (!(element.flags & ts.TypeFlags.Object) || /Options$/.test(symbol.name)) return null;
  if (!(symbol.name in types) && !waiting.some(([name]) => name === symbol.name)) {
    waiting.push([symbol.name, element]);
  }
  return symbol.name;
}

function typeText(type: ts.Type): string {
  const text = checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation);
  return text.length > longestType || /[{<]/.test(text.replaceAll('Promise<', '')) ? '' : text;
}

function signatureText(signature: ts.Signature): string {
  const parameters = signature.getParameters().map((parameter) => {
    const declaration = parameter.valueDeclaration;
    const isOptional =
      declaration !== undefined &&
      ts.isParameter(declaration) &&
      (declaration.questionToken !== undefined || declaration.initializer !== undefined);
    const text = typeText(checker.getTypeOfSymbolAtLocation(parameter, opened as ts.Node));
    const kind = text.replace(/ \| undefined$/, '');
    return `${parameter.name}${isOptional ? '?' : ''}${kind === '' || isOptional ? '' : `: ${kind}`}`;
  });
  const result = typeText(signature.getReturnType());
  return `(${parameters.join(', ')})${result === '' ? '' : `: ${result}`}`;
}

function memberOf(symbol: ts.Symbol): Member {
  const type = checker.getTypeOfSymbolAtLocation(symbol, opened as ts.Node);
  // The overload with the most parameters has the names of all.
  const [signature] = checker
    .getNonNullableType(type)
    .getCallSignatures()
    .toSorted((one, other) => other.getParameters().length - one.getParameters().length);
  const doc = docOf(symbol);
  if (signature === undefined) {
    const text = typeText(type);
    return [text === '' ? '' : `: ${text}`, doc, listed(type)];
  }
  return [signatureText(signature), doc, listed(signature.getReturnType())];
}

function membersOf(type: ts.Type): Record<string, Member> {
  const shown = checker
    .getPropertiesOfType(type)
    .filter(
      (symbol) =>
        /^[a-z]\w*$/i.test(symbol.name) &&
        !/^\$+|^_/.test(symbol.name) &&
        isOfPlaywright({ ...symbol, declarations: symbol.declarations } as ts.Symbol) &&
        !symbol.getJsDocTags(checker).some(({ name }) => name === 'deprecated'),
    );
  return Object.fromEntries(
    shown
      .map((symbol): [string, Member] => [symbol.name, memberOf(symbol)])
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function exported(name: string): ts.Type {
  const symbol = checker
    .getExportsOfModule(checker.getSymbolAtLocation(opened as ts.Node) as ts.Symbol)
    .find((one) => one.name === name);
  if (symbol === undefined) throw new Error(`nothing is exported as ${name}`);
  return symbol.flags & ts.SymbolFlags.Interface
    ? checker.getDeclaredTypeOfSymbol(symbol)
    : checker.getTypeOfSymbolAtLocation(symbol, opened as ts.Node);
}

const values: Record<string, Member> = {};
for (const symbol of checker.getPropertiesOfType(exported('values'))) {
  const [signature, doc, type] = memberOf(symbol);
  const own = checker.getTypeOfSymbolAtLocation(symbol, opened);
  const isFunction = own.getCallSignatures().length > 0;
  values[symbol.name] = [signature, doc, isFunction ? symbol.name : type];
  if (isFunction) types[symbol.name] = membersOf(own);
}
for (const symbol of checker.getPropertiesOfType(exported('matchers'))) {
  types[`expect(${symbol.name})`] = membersOf(checker.getTypeOfSymbolAtLocation(symbol, opened));
}
for (const name of ['SetupRequest', 'TeardownResponse']) types[name] = membersOf(exported(name));
for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
  types[next[0]] = membersOf(next[1]);
}

const { dependencies } = JSON.parse(
  readFileSync(join(runtimes, newest, 'package.json'), 'utf8'),
) as {
  dependencies: Record<string, string>;
};
const packageFile = join(root, 'node_modules', '@playwright', 'test', 'package.json');
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };
const scriptTypes: ScriptTypes = { version, modules: dependencies, values, types };
process.stdout.write(factSource({ scriptTypes }));
