/** What a PromQL expression asks for: parsed by the grammar of Prometheus itself. */
import type { SyntaxNodeRef } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

export interface Asked {
  metric: string;
  labels: string[];
}

export interface ReadExpression {
  asked: Asked[];
  /** Labels that results are grouped or matched by. */
  grouped: string[];
}

/** Throws for an expression that does not parse. What stands for Grafana's variables is put in first. */
export function readExpression(expression: string): ReadExpression {
  const text = expression.replaceAll('$__rate_interval', '5m').replaceAll('$__interval', '1m');
  const read: ReadExpression = { asked: [], grouped: [] };
  const wordsIn = (from: number, to: number): string => text.slice(from, to);
  parser.parse(text).iterate({
    enter({ type, from, to, node }: SyntaxNodeRef) {
      if (type.isError) throw new Error(`${expression} is no PromQL at ${from}`);
      if (type.name === 'VectorSelector') {
        const identifier = node.getChild('Identifier');
        const matchers = node.getChild('LabelMatchers');
        const names = [
          ...wordsIn(matchers?.from ?? 0, matchers?.to ?? 0).matchAll(
            /(\w+)\s*(?:=~|!~|!=|=)\s*"/g,
          ),
        ];
        read.asked.push({
          metric: identifier === null ? '' : wordsIn(identifier.from, identifier.to),
          labels: names.map(([, name]) => name ?? ''),
        });
      }
      if (type.name === 'GroupingLabels') {
        read.grouped.push(...(wordsIn(from, to).match(/\w+/g) ?? []));
      }
    },
  });
  return read;
}
