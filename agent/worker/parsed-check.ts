import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import type {
  AgentCheckType,
  CheckDefinition,
} from '@monitor/shared/contract/checks/check-type.ts';
import { definitionSchemaOf } from '@monitor/shared/contract/checks/definition-schema.ts';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { AgentError } from '../errors.ts';
import type { RunnerEntry, RunnerRegistry } from '../runners/index.ts';

/** A check with everything that its runs need. */
export interface ParsedCheck {
  type: AgentCheckType;
  definition: CheckDefinition;
  entry: RunnerEntry;
}

const parsed = new WeakMap<AssignedCheck, ParsedCheck | AgentError>();

function parse(check: AssignedCheck, runners: RunnerRegistry): ParsedCheck {
  const type = findAgentType(check.type);
  const entry = Object.hasOwn(runners, check.type) ? runners[check.type] : undefined;
  if (type === undefined || entry === undefined) {
    throw new AgentError(
      'CHECK_TYPE_UNKNOWN',
      `this agent cannot run checks of type ${check.type}; update the agent or use an image that can`,
    );
  }
  const result = definitionSchemaOf(type).safeParse(check.definition);
  if (!result.success) {
    const [issue] = result.error.issues;
    throw new AgentError(
      'JOB_INVALID',
      `the definition of the check cannot be understood: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`,
    );
  }
  // Types without a request are judged by the same rules, without assertions.
  const definition = {
    request: { assertions: [] },
    shouldFail: false,
    degradedResponseTime: null,
    maxResponseTime: null,
    ...result.data,
  } as CheckDefinition;
  return { type, definition, entry };
}

/** Parses a check once per assignment. Throws an AgentError when this agent cannot run it. */
export function parseCheck(check: AssignedCheck, runners: RunnerRegistry): ParsedCheck {
  let known = parsed.get(check);
  if (known === undefined) {
    try {
      known = parse(check, runners);
    } catch (error) {
      known =
        error instanceof AgentError
          ? error
          : new AgentError('JOB_INVALID', 'the definition of the check cannot be understood', {
              cause: error,
            });
    }
    parsed.set(check, known);
  }
  if (known instanceof AgentError) throw known;
  return known;
}
