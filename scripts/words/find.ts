import { basename } from 'node:path';
import ts from 'typescript';
import { nameTerms, textTerms } from './terms.ts';

export interface Finding {
  file: string;
  line: number;
  /** The exported name, the name of the file, or the text. */
  found: string;
  instead: string;
}

/** `carryOut` and `carry-out.ts` → `carry-out`. */
function words(name: string): string {
  return name
    .replace(/\.[a-z]+$/, '')
    .replaceAll(/([a-z\d])(?=[A-Z])/g, '$1-')
    .replaceAll('_', '-')
    .toLowerCase();
}

type Located = Pick<Finding, 'file' | 'line'>;

function inName(name: string, at: Located): Finding[] {
  const term = nameTerms.find(({ pattern }) => pattern.test(words(name)));
  return term === undefined ? [] : [{ ...at, found: name, instead: term.instead }];
}

function inText(text: string, at: Located): Finding[] {
  return textTerms.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map(({ index }) => {
      const line = at.line + text.slice(0, index).split('\n').length - 1;
      const found = text.slice(Math.max(0, index - 30), index + 40);
      return { file: at.file, line, found: found.replaceAll(/\s+/g, ' ').trim(), instead };
    }),
  );
}

function isExported(node: ts.Node): boolean {
  return (
    ts.canHaveModifiers(node) &&
    (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  );
}

function membersOf(node: ts.Node): readonly ts.NamedDeclaration[] {
  if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) return node.members;
  if (ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type)) return node.type.members;
  return [];
}

/** Names that a statement exports, with those of the members of its type. */
function exportedNames(statement: ts.Statement): ts.Node[] {
  if (ts.isExportDeclaration(statement)) {
    const { exportClause: clause } = statement;
    if (clause === undefined || !ts.isNamedExports(clause)) return [];
    return clause.elements.flatMap(({ name, propertyName }) => (propertyName ? [name] : []));
  }
  if (!isExported(statement)) return [];
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name);
  }
  const { name } = statement as ts.Statement & { name?: ts.Node };
  const members = membersOf(statement).flatMap((member) => member.name ?? []);
  return [...(name === undefined ? [] : [name]), ...members];
}

/** The text of a literal that people may read: not of paths of imports, and not of statements of SQL. */
function readText(node: ts.Node): string | null {
  if (ts.isStringLiteral(node)) {
    const isPath = ts.isImportDeclaration(node.parent) || ts.isExportDeclaration(node.parent);
    return isPath ? null : node.text;
  }
  const isTemplate =
    ts.isNoSubstitutionTemplateLiteral(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) ||
    ts.isTemplateTail(node);
  if (!isTemplate) return null;
  const template = ts.isTemplateSpan(node.parent)
    ? node.parent.parent
    : ts.isTemplateExpression(node.parent)
      ? node.parent
      : node;
  const { parent } = template;
  const isSql = ts.isTaggedTemplateExpression(parent) && parent.tag.getText() === 'sql';
  return isSql ? null : node.text;
}

function inSource(file: string, source: string): Finding[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const at = (node: ts.Node): Located => ({
    file,
    line: tree.getLineAndCharacterOfPosition(node.getStart()).line + 1,
  });
  const findings = tree.statements
    .flatMap(exportedNames)
    .filter((name) => ts.isIdentifier(name))
    .flatMap((name) => inName(name.text, at(name)));
  const visit = (node: ts.Node): void => {
    const text = readText(node);
    // Keys and values of one word are names of fields, columns and metrics.
    if (text?.includes(' ') === true) findings.push(...inText(text, at(node)));
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return findings;
}

/** The text of a document without code, line by line as it was. */
function proseOf(document: string): string {
  const blank = (code: string) => code.replaceAll(/[^\n]/g, ' ');
  return document.replaceAll(/^```[\s\S]*?^```/gm, blank).replaceAll(/`[^`\n]*`/g, blank);
}

/** Words of the house's list in the name of a file, in what it exports, and in its texts. */
export function findingsIn(file: string, source: string): Finding[] {
  const findings = inName(basename(file), { file, line: 0 });
  const others = /\.(md|html)$/.test(file)
    ? inText(proseOf(source), { file, line: 1 })
    : inSource(file, source);
  return [...findings, ...others];
}
