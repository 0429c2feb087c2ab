/** Checks who imports whom, and that something was looked at: an empty run is a broken tool, not a pass. */
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import extractConfig from 'dependency-cruiser/config-utl/extract-depcruise-config';
import extractTsConfig from 'dependency-cruiser/config-utl/extract-ts-config';

const fewestModules = 60;

const options = (await extractConfig('./.dependency-cruiser.cjs')) as { options: ICruiseOptions };
const { output } = await cruise(
  ['agent', 'control-plane', 'shared', 'scripts'],
  { ...options.options, ruleSet: options, validate: true } as ICruiseOptions,
  {},
  { tsConfig: extractTsConfig('./tsconfig.json') },
);
const { summary } = output as ICruiseResult;
for (const violation of summary.violations) {
  console.error(`${violation.rule.name}: ${violation.from} -> ${violation.to}`);
}
console.log(
  `boundaries: ${summary.totalCruised} modules, ${summary.totalDependenciesCruised ?? 0} dependencies, ${summary.violations.length} violations`,
);
if (summary.totalCruised < fewestModules) {
  console.error(
    `boundaries: expected at least ${fewestModules} modules; the cruiser saw too little`,
  );
  process.exitCode = 1;
}
if (summary.violations.length > 0) process.exitCode = 1;
