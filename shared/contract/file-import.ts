/** Files of other products, and what they become here. */
import { z } from 'zod';
import { diffEntry, maxProjectBytes } from './compatibility/projects.ts';
import { queryBoolean } from './primitives.ts';
import { defineRoutes, post } from './route.ts';

export const reportClasses = [
  ...(['EXACT', 'CHANGED', 'APPROXIMATE', 'DEACTIVATED', 'NOT_CARRIED'] as const),
  ...(['SECRET', 'HISTORY'] as const),
] as const;

const amounts = z.record(z.string(), z.int());

export const fileImport = z
  .object({
    source: z.string().meta({ description: 'The product whose files they are' }),
    project: z.string().meta({ description: 'The project that owns what is imported' }),
    resources: amounts.meta({ description: 'How many of each type are made' }),
    counts: amounts.meta({ description: 'How many objects of the files are of each class' }),
    report: z
      .array(
        z.object({
          class: z.enum(reportClasses),
          object: z.string().nullable(),
          name: z.string().nullable(),
          place: z.string().nullable().meta({ description: 'File and line' }),
          text: z.string(),
        }),
      )
      .meta({ description: 'What is not exactly the same, and what is missing' }),
    missing: z.array(z.string()).meta({ description: 'Nothing is imported without these' }),
    findings: z.int().meta({ description: 'How much is lost, switched off or missing' }),
    variables: z
      .array(z.string())
      .meta({ description: 'Variables that hold secrets of the files' }),
    isApplied: z.boolean(),
    changes: z
      .array(diffEntry)
      .nullable()
      .meta({ description: 'Of the account; null while something is missing' }),
  })
  .meta({ id: 'FileImport' });

export const fileImportRoutes = defineRoutes('Projects', {
  importFiles: post('/v1/imports', 'Import the configuration of another product', {
    description:
      'Files of Uptime Kuma (backup as JSON), Gatus, Prometheus, blackbox_exporter, OpenStatus, or CSV; `control-plane import` takes databases as well. Importing again updates what was imported before; deleting the project undoes it.',
    query: z.object({
      dryRun: queryBoolean
        .default(true)
        .meta({ description: 'Only says what would be made. With `false` it is made' }),
    }),
    body: z.object({
      files: z
        .array(z.object({ path: z.string().min(1).max(1024), text: z.string() }))
        .min(1)
        .max(1_000)
        .meta({
          example: [{ path: 'checks.csv', text: 'name,target\nShop,https://shop.example\n' }],
        }),
      locations: z
        .array(z.string().min(1).max(255))
        .max(100)
        .default([])
        .meta({ description: 'Where checks run: data-center locations and slugs of private ones' }),
    }),
    bodyLimitBytes: maxProjectBytes,
    status: 200,
    response: fileImport,
    errors: [409, 413, 429],
  }),
});
