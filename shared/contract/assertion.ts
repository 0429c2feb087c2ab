/** Assertions: a source of the measurement, compared with a target. Spec: URL monitor, DNS monitor. */
import { z } from 'zod';

/** The comparisons of the field. spec: open */
export const comparison = z
  .enum([
    'EQUALS',
    'NOT_EQUALS',
    'HAS_KEY',
    'NOT_HAS_KEY',
    'HAS_VALUE',
    'NOT_HAS_VALUE',
    'IS_EMPTY',
    'NOT_EMPTY',
    'GREATER_THAN',
    'LESS_THAN',
    'CONTAINS',
    'NOT_CONTAINS',
    'IS_NULL',
    'NOT_NULL',
  ])
  .meta({ id: 'Comparison' });
export type Comparison = z.infer<typeof comparison>;

export const numericComparisons = ['EQUALS', 'NOT_EQUALS', 'GREATER_THAN', 'LESS_THAN'] as const;
export const textComparisons = [
  ...numericComparisons,
  'IS_EMPTY',
  'NOT_EMPTY',
  'CONTAINS',
  'NOT_CONTAINS',
] as const;

/** What is wrong with the target of a numeric source; null for nothing. */
export function numberProblem(target: string): string | null {
  return target.trim() !== '' && Number.isFinite(Number(target)) ? null : 'must be a number';
}

/** What every assertion looks like once parsed; `target` is always text on the wire. */
export interface Assertion {
  source: string;
  comparison: Comparison;
  /** Header name, JSONPath, regular expression or statistic: its meaning belongs to the source. */
  property: string;
  target: string;
  regex: string | null;
}

/** An assertion after a run: `error` present means it did not hold; `actual` may be 0, false or "". */
export const evaluatedAssertion = z
  .object({
    order: z.int().min(0),
    source: z.string(),
    comparison: z.string(),
    property: z.string(),
    target: z.union([z.string(), z.number()]),
    regex: z.string().nullable(),
    actual: z.unknown().optional(),
    error: z.string().exactOptional(),
  })
  .meta({ id: 'EvaluatedAssertion' });
export type EvaluatedAssertion = z.infer<typeof evaluatedAssertion>;

/** One source with the comparisons that make sense for it, and optionally the properties it knows. */
interface SourceGrammar<Source extends string> {
  source: Source;
  comparisons: readonly [Comparison, ...Comparison[]];
  properties?: readonly [string, ...string[]];
  /** The comparisons of single properties; one that is not in it is not known. */
  byProperty?: Readonly<Record<string, readonly Comparison[]>>;
  /** Says what is wrong with the target of a property; null for nothing. */
  targetProblem?: (target: string, property: string) => string | null;
}

/** Builds the schema of one check type's assertions. */
export function assertionSchema<Source extends string>(
  sources: readonly [SourceGrammar<Source>, ...SourceGrammar<Source>[]],
) {
  const names = sources.map((grammar) => grammar.source) as [Source, ...Source[]];
  return z
    .object({
      source: z.enum(names),
      comparison,
      property: z.string().max(2048).default(''),
      target: z.string().max(65_536).default(''),
      regex: z.string().max(2048).nullable().default(null),
    })
    .superRefine((assertion, context) => {
      const grammar = sources.find((candidate) => candidate.source === assertion.source);
      if (grammar === undefined) return;
      const { source, property } = assertion;
      const refuse = (path: string, message: string): void => {
        context.addIssue({ code: 'custom', path: [path], message });
      };
      const { byProperty, properties = byProperty && Object.keys(byProperty) } = grammar;
      if (properties !== undefined && !properties.includes(property)) {
        refuse('property', `must be one of ${properties.join(', ')} for ${source}`);
        return;
      }
      const comparisons = byProperty?.[property] ?? grammar.comparisons;
      if (!comparisons.includes(assertion.comparison)) {
        const subject = byProperty === undefined ? source : `${source} "${property}"`;
        refuse('comparison', `must be one of ${comparisons.join(', ')} for ${subject}`);
        return;
      }
      const problem = grammar.targetProblem?.(assertion.target, property) ?? null;
      if (problem !== null) refuse('target', problem);
    });
}

/** No check needs more; a longer list is a mistake of a generator. */
export const maxAssertions = 100;
