/**
 * Whether Kubernetes would take an object: by its own schemas, and by its fields, which the schemas
 * leave open but a server that validates strictly does not.
 */
import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor';
import { ScrapeConfig } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1alpha1/ScrapeConfig';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject';
import { TriggerAuthentication } from '@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { CronJob } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import {
  ConfigMap,
  Namespace,
  PersistentVolumeClaim,
  Secret,
  Service,
  ServiceAccount,
} from 'kubernetes-models/v1';
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
  apiVersion: string;
  kind: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- each model has a type of its own
  new (object: any): { validate(): void };
}

const models: readonly Model[] = [
  ConfigMap,
  CronJob,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  Namespace,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  PodMonitor,
  PrometheusRule,
  ScaledObject,
  ScrapeConfig,
  Secret,
  Service,
  ServiceAccount,
  ServiceMonitor,
  StatefulSet,
  TriggerAuthentication,
];

/** Throws when an object is of an unknown kind or does not keep to the schema of its kind. */
export function assertValidObject(object: KubernetesObject): void {
  const { apiVersion, kind, metadata } = object;
  const model = models.find((each) => each.apiVersion === apiVersion && each.kind === kind);
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
    .map(({ apiVersion, kind, ...rest }, index) => {
      const folder = folders[apiVersion];
      if (folder === undefined) throw new Error(`no types for ${apiVersion}`);
      const literal = JSON.stringify({ apiVersion, kind, ...rest });
      return `import type { I${kind} as Type${index} } from '${folder}/${kind}';\n(${literal}) satisfies Type${index};`;
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
