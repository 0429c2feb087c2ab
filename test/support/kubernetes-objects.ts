/**
 * Whether Kubernetes would take an object: by its own schemas, and by its fields, which the schemas
 * leave open but a server that validates strictly does not.
 */
import ts from 'typescript';
import type { KubernetesObject } from '../../scripts/charts/render-chart.ts';

const folders: Readonly<Record<string, string>> = {
  'apps/v1': 'kubernetes-models/apps/v1',
  'autoscaling/v2': 'kubernetes-models/autoscaling/v2',
  'batch/v1': 'kubernetes-models/batch/v1',
  'networking.k8s.io/v1': 'kubernetes-models/networking.k8s.io/v1',
  'policy/v1': 'kubernetes-models/policy/v1',
  v1: 'kubernetes-models/v1',
  'keda.sh/v1alpha1': '@kubernetes-models/keda/keda.sh/v1alpha1',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
  'monitoring.coreos.com/v1alpha1':
    '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1alpha1',
};

interface Model {
  // oxlint-disable-next-line typescript/no-explicit-any -- each model has a type of its own
  new (object: any): { validate(): void };
}

function moduleOf({ apiVersion, kind }: KubernetesObject): string {
  const folder = folders[apiVersion];
  if (folder === undefined) throw new Error(`no types for ${apiVersion}`);
  return `${folder}/${kind}`;
}

/** Throws when an object is of an unknown kind or does not keep to the schema of its kind. */
export async function assertValidObject(object: KubernetesObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const module = (await import(moduleOf(object))) as Record<string, Model>;
  const model = module[kind];
  if (model === undefined) throw new Error(`no schema for ${apiVersion} ${kind}`);
  try {
    new model(object).validate();
  } catch (error) {
    throw new Error(`${kind} ${metadata.name}: ${String(error)}`, { cause: error });
  }
}

/** Fields of objects that their kinds do not have, and values of the wrong type, by the models' types. */
export function wrongFields(objects: readonly KubernetesObject[]): string[] {
  const file = `${process.cwd()}/rendered-objects.ts`;
  const source = objects
    .map((object, index) => {
      const type = `import type { I${object.kind} as Type${index} } from '${moduleOf(object)}';`;
      return `${type}\n(${JSON.stringify(object)}) satisfies Type${index};`;
    })
    .join('\n');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts'],
    types: [],
    noEmit: true,
    strict: true,
    skipLibCheck: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (path) => path === file || fileExists.call(host, path);
  host.readFile = (path) => (path === file ? source : readFile.call(host, path));
  host.getSourceFile = (path, ...rest) =>
    path === file
      ? ts.createSourceFile(path, source, ts.ScriptTarget.ES2022)
      : getSourceFile.call(host, path, ...rest);
  const program = ts.createProgram([file], options, host);
  return [...program.getSyntacticDiagnostics(), ...program.getSemanticDiagnostics()].map(
    ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'),
  );
}
