/** Dockerfiles as lists of instructions, for tests that hold them against the repository. */
import { readFileSync } from 'node:fs';

export interface Instruction {
  /** The stage it belongs to; empty before the first. */
  stage: string;
  /** In capitals, as `COPY`. */
  name: string;
  words: string[];
  text: string;
}

/** The instructions of a Dockerfile, continuation lines joined, comments left out. */
export function readDockerfile(file: string): Instruction[] {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  let stage = '';
  return lines.map((line) => {
    const [name = '', ...words] = line.trim().split(/\s+/);
    if (name === 'FROM') stage = words[2] ?? '';
    return { stage, name, words, text: line.trim().slice(name.length + 1) };
  });
}

/** A stage and those it is made FROM, the nearest first. */
export function lineage(instructions: readonly Instruction[], stage: string): string[] {
  const from = instructions.find((each) => each.name === 'FROM' && each.stage === stage);
  const parent = from?.words[0] ?? '';
  const isStage = instructions.some(
    ({ name, stage: other }) => name === 'FROM' && other === parent,
  );
  return [stage, ...(isStage ? lineage(instructions, parent) : [])];
}

/** What is in force in a stage: the instructions of that name, the nearest first. */
export function inForce(
  instructions: readonly Instruction[],
  stage: string,
  name: string,
): Instruction[] {
  return lineage(instructions, stage).flatMap((each) =>
    instructions.filter((one) => one.stage === each && one.name === name).reverse(),
  );
}
