/** A chart as it lies on disk. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse } from 'yaml';

export interface Chart {
  folder: string;
  /** `Chart.yaml`, its keys as templates name them. */
  metadata: { Name: string; Version: string; AppVersion: string };
  values: Record<string, unknown>;
  schema: Record<string, unknown>;
  /** What is wrong with values, by the schema; empty when nothing is. */
  problemsOf: (values: unknown) => string[];
  /** Templates by path within the chart. */
  templates: Map<string, string>;
  /** Other files, for `.Files.Get`. */
  files: Map<string, string>;
}

const read = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8');

function checkedBy(schema: Record<string, unknown>): (values: unknown) => string[] {
  const isValid = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true }).compile(schema);
  return (values) =>
    isValid(values)
      ? []
      : (isValid.errors ?? []).map(
          ({ instancePath, message, params }) =>
            `${instancePath}: ${message} ${JSON.stringify(params)}`,
        );
}

/** Reads a chart. Values are read as Helm does: YAML 1.1, in which `on` is true. */
export function loadChart(folder: string): Chart {
  const { name, version, appVersion } = parse(read(folder, 'Chart.yaml')) as Record<string, string>;
  if (name === undefined || version === undefined || appVersion === undefined)
    throw new Error(`${folder}/Chart.yaml lacks name, version or appVersion`);
  const texts = (pattern: string) =>
    new Map(globSync(pattern, { cwd: folder }).map((file) => [file, read(folder, file)]));
  const schema = JSON.parse(read(folder, 'values.schema.json')) as Record<string, unknown>;
  return {
    folder,
    metadata: { Name: name, Version: version, AppVersion: appVersion },
    values: parse(read(folder, 'values.yaml'), { version: '1.1' }) as Record<string, unknown>,
    schema,
    problemsOf: checkedBy(schema),
    templates: texts('templates/**/*.{yaml,tpl,txt}'),
    files: existsSync(join(folder, 'files')) ? texts('files/**/*.*') : new Map<string, string>(),
  };
}
