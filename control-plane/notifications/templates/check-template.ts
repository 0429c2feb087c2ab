/** Validates templates when they are saved, before they are needed. */
import { parseTemplate } from '@monitor/shared/templates/parse-template.ts';
import { TemplateError } from '@monitor/shared/templates/template-error.ts';
import { conditions, helpers } from './helpers.ts';

const blocks: ReadonlySet<string> = new Set(['if', 'unless', 'each']);

function checkExpression(node: hbs.AST.Expression, line: number): void {
  if (node.type === 'SubExpression') checkCall(node as hbs.AST.SubExpression, line, helpers);
}

function checkCall(
  { path, params, hash }: hbs.AST.SubExpression | hbs.AST.MustacheStatement,
  line: number,
  known: { has: (name: string) => boolean },
): void {
  const name = path.type === 'PathExpression' ? (path as hbs.AST.PathExpression).original : '';
  if (!conditions.has(name) && !known.has(name)) {
    throw new TemplateError(`line ${line}: there is no helper "${name || 'a literal'}"`);
  }
  const named = ((hash as hbs.AST.Hash | undefined)?.pairs ?? []).map(({ value }) => value);
  for (const each of [...params, ...named]) checkExpression(each, line);
}

function checkProgram(program: hbs.AST.Program | undefined): void {
  for (const node of program?.body ?? []) {
    const { line } = node.loc.start;
    if (node.type === 'MustacheStatement') {
      const statement = node as hbs.AST.MustacheStatement;
      if (statement.params.length > 0) checkCall(statement, line, helpers);
    } else if (node.type === 'BlockStatement') {
      const block = node as hbs.AST.BlockStatement;
      if (block.params.length > 0) {
        checkCall(block as unknown as hbs.AST.MustacheStatement, line, blocks);
      } else if (blocks.has(block.path.original)) {
        throw new TemplateError(
          `line ${line}: "${block.path.original}" needs something to look at`,
        );
      }
      checkProgram(block.program as hbs.AST.Program | undefined);
      checkProgram(block.inverse as hbs.AST.Program | undefined);
    } else if (node.type !== 'ContentStatement' && node.type !== 'CommentStatement') {
      throw new TemplateError(
        `line ${line}: partials and decorators are not supported (${node.type})`,
      );
    }
  }
}

/** What is wrong with a template; null for nothing. */
export function templateProblem(template: string): string | null {
  if (!template.includes('{{')) return null;
  try {
    checkProgram(parseTemplate(template));
    return null;
  } catch (error) {
    if (error instanceof TemplateError) return error.message;
    throw error;
  }
}
