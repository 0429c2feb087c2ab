/** What `monitor-agent doctor` can say, read from its sources, so that the guide has all of it. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';

export interface DoctorMessage {
  /** The step that says it. */
  step: string;
  verdict: 'fail' | 'warn' | 'fail or warn';
  /** With `…` for what is filled in. */
  evidence: string;
  fix: string;
}

const unknown = '…';
/** A message that is filled in as a whole says nothing by itself. */
const minKnownLetters = 8;

/** Constants of a file by their names: texts of several messages. */
function constantsOf(file: ts.SourceFile): Map<string, ts.Expression> {
  const found = new Map<string, ts.Expression>();
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      // The same name in two functions stands for two texts.
      const name = node.name.text;
      if (found.has(name)) found.set(name, ts.factory.createIdentifier('undefined'));
      else found.set(name, node.initializer);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** The text of an expression, as far as it stands in the source. */
function textOf(node: ts.Expression, constants: Map<string, ts.Expression>): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isParenthesizedExpression(node)) return textOf(node.expression, constants);
  if (ts.isTemplateExpression(node)) {
    return node.templateSpans.reduce(
      (text, { expression, literal }) => text + textOf(expression, constants) + literal.text,
      node.head.text,
    );
  }
  if (ts.isConditionalExpression(node)) {
    const [one, other] = [textOf(node.whenTrue, constants), textOf(node.whenFalse, constants)];
    if (one === unknown || one === '') return other;
    return other === unknown || other === '' ? one : `${one} / ${other}`;
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return textOf(node.left, constants) + textOf(node.right, constants);
  }
  if (ts.isIdentifier(node)) {
    const value = constants.get(node.text);
    if (value !== undefined && (ts.isStringLiteralLike(value) || ts.isTemplateExpression(value))) {
      return textOf(value, constants);
    }
  }
  return unknown;
}

function tidy(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(…[\s,;:]*)+…/g, unknown)
    .replace(/[;:,]? ?…$/, ' …')
    .trim();
}

function verdictOf(callee: string): DoctorMessage['verdict'] | undefined {
  if (callee === 'fail' || callee === 'warn') return callee;
  return /\bfail : warn\b/.test(callee) ? 'fail or warn' : undefined;
}

/** One file for several steps: each is a function of it. */
const limits: Readonly<Record<string, string>> = {
  judgeDescriptors: 'descriptors',
  judgeProcesses: 'processes',
  judgeMemory: 'memory',
  judgeCpu: 'cpu',
};

/** What is judged outside of the file of a step: the steps that say it, and what each fills in. */
const shared: Readonly<Record<string, Readonly<Record<string, Record<string, string>>>>> = {
  'agent/doctor/link/sinkhole.ts': { dns: {} },
  'agent/doctor/judge-writing.ts': {
    'data-directory': { setting: 'AGENT_DATA_DIR', mount: 'a volume that keeps its files' },
    'work-directory': { setting: 'AGENT_WORK_DIR', mount: 'a tmpfs or an emptyDir' },
  },
};

function messagesIn(
  path: string,
  step: string,
  filledIn: Readonly<Record<string, string>> = {},
): DoctorMessage[] {
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const constants = constantsOf(file);
  for (const [name, text] of Object.entries(filledIn)) {
    constants.set(name, ts.factory.createStringLiteral(text));
  }
  const found: DoctorMessage[] = [];
  const visit = (node: ts.Node, step: string): void => {
    if (ts.isCallExpression(node)) {
      const verdict = verdictOf(node.expression.getText(file));
      const [evidence, fix] = node.arguments;
      if (verdict !== undefined && evidence !== undefined && fix !== undefined) {
        const message = {
          step,
          verdict,
          evidence: tidy(textOf(evidence, constants)),
          fix: tidy(textOf(fix, constants)),
        };
        if (message.evidence.replaceAll(/[^a-z]/gi, '').length >= minKnownLetters) {
          found.push(message);
        }
      }
    }
    const inside = ts.isFunctionDeclaration(node) ? limits[node.name?.text ?? ''] : undefined;
    ts.forEachChild(node, (child) => visit(child, inside ?? step));
  };
  visit(file, step);
  return found;
}

export function doctorMessages(): DoctorMessage[] {
  const ofSteps = globSync('agent/doctor/steps/*.ts')
    .sort()
    .flatMap((path) => messagesIn(path, basename(path, '.ts')));
  const ofOthers = Object.entries(shared).flatMap(([path, steps]) =>
    Object.entries(steps).flatMap(([step, filledIn]) => messagesIn(path, step, filledIn)),
  );
  return [...ofSteps, ...ofOthers];
}
