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

/** Names that a statement exports, with those of the members of its type. */
function exportedNames(statement: ts.Statement): ts.Node[] {
  if (ts.isExportDeclaration(statement)) {
    const { exportClause: clause } = statement;
    if (clause === undefined || !ts.isNamedExports(clause)) return [];
    return clause.elements.flatMap(({ name, propertyName }) => (propertyName ? [name] : []));
  }
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
  if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
  type Named = { name?: ts.Node; members?: readonly Named[]; type?: Named };
  const named = statement as unknown as Named;
  const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [];
  const members = named.members ?? named.type?.members ?? [];
  return [named, ...declared, ...members].flatMap(({ name }) => name ?? []);
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
    // Paths of imports and statements of SQL are no texts for people.
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'sql') {
      const { template } = node;
      if (!ts.isTemplateExpression(template)) return;
      for (const { expression } of template.templateSpans) visit(expression);
      return;
    }
    const isText =
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node) ||
      ts.isJsxText(node);
    // Tables and columns are members of an interface that another file exports.
    if (ts.isPropertySignature(node) && file.endsWith('/tables.ts')) {
      findings.push(...inName(node.name.getText(), at(node)));
    }
    // Keys and values of one word are names of fields, columns and metrics.
    if (isText && node.text.includes(' ')) findings.push(...inText(node.text, at(node)));
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
