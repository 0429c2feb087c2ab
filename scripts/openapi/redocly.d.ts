/**
 * What we use of Redocly. Its own types follow from its schemas by inference, and cost more time to check
 * than half of the control plane.
 */
export interface Problem {
  ruleId: string;
  severity: string;
  message: string;
  location: { pointer?: string }[];
}

export function createConfig(config: {
  extends: string[];
  rules: Record<string, 'off' | 'warn' | 'error'>;
}): Promise<object>;

export function lintFromString(options: {
  source: string;
  absoluteRef: string;
  config: object;
}): Promise<Problem[]>;
