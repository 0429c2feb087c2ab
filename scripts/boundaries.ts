/**
 * Checks who imports whom, and that something was looked at: an empty run is a broken tool, not a pass.
 * `--graph` prints which folders import which.
 */
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import extractConfig from 'dependency-cruiser/config-utl/extract-depcruise-config';
import extractTsConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { cycleIn, folderGraph, type Import } from './boundaries/folder-graph.ts';

const minModules = 60;
/** What stands directly below each of these imports in one direction only. */
const layeredRoots = ['agent', 'agent/net', 'control-plane'];

const options = (await extractConfig('./.dependency-cruiser.cjs')) as { options: ICruiseOptions };
const { output } = await cruise(
  ['agent', 'control-plane', 'shared', 'proof', 'scripts'],
  { ...options.options, ruleSet: options, validate: true } as ICruiseOptions,
  {},
  { tsConfig: extractTsConfig('./tsconfig.json') },
);
const { summary, modules } = output as ICruiseResult;
for (const violation of summary.violations) {
  console.error(`${violation.rule.name}: ${violation.from} -> ${violation.to}`);
}

const imports = modules
  .flatMap(({ source, dependencies }) =>
    dependencies.map(({ resolved }): Import => ({ from: source, to: resolved })),
  )
  .filter(({ to }) => !to.includes('node_modules/'));
let cycles = 0;
for (const root of layeredRoots) {
  const graph = folderGraph(root, imports);
  const cycle = cycleIn(graph);
  if (cycle !== null) {
    cycles += 1;
    console.error(`no-folder-cycles: below ${root}, these imports make a circle:`);
    for (const { from, to } of cycle) console.error(`  ${from} -> ${to}`);
  }
  if (graph.size === 0) {
    console.error(`boundaries: nothing below ${root} imports anything; is the name right?`);
    process.exitCode = 1;
  }
  if (process.argv.includes('--graph')) {
    for (const [folder, targets] of [...graph].sort(([a], [b]) => (a < b ? -1 : 1))) {
      console.log(`${folder} -> ${[...targets.keys()].sort().join(' ')}`);
    }
  }
}
console.log(
  `boundaries: ${summary.totalCruised} modules, ${summary.totalDependenciesCruised ?? 0} dependencies, ${summary.violations.length} violations, ${cycles} folder cycles`,
);
if (summary.totalCruised < minModules) {
  console.error(`boundaries: expected at least ${minModules} modules; the cruiser saw too little`);
  process.exitCode = 1;
}
if (summary.violations.length > 0 || cycles > 0) process.exitCode = 1;
