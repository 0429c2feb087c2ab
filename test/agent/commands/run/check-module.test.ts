import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { checksOfModule } from '../../../../agent/commands/run/check-module.ts';
import { temporaryFolder } from '../../../support/system.ts';

const parts = `export enum Kind { Url = 'URL' }\nexport const url = 'https://shop.example/';\n`;
const module = `import { Kind, url } from './parts';
namespace Names { export const shop = 'Shop'; }
export default { checkType: Kind.Url, name: Names.shop, request: { url } };
export const more = [{ checkType: Kind.Url, request: { url } }];
`;

for (const type of ['module', 'commonjs'] as const) {
  test(`a check in TypeScript may have what Node leaves to compilers: enums, namespaces, imports without an ending (${type})`, async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ type }));
    writeFileSync(join(folder.path, 'parts.ts'), parts);
    const path = join(folder.path, 'shop.check.ts');
    writeFileSync(path, module);
    const found = await checksOfModule({ path, text: module });
    const shop = { checkType: 'URL', request: { url: 'https://shop.example/' } };
    assert.deepEqual(found, [
      { name: 'default', fields: { ...shop, name: 'Shop' } },
      { name: 'more[0]', fields: shop },
    ]);
  });
}

test('what fails while it is loaded is named with its line in the source, not in what was compiled', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'broken.check.ts');
  const text =
    'enum Kind { Url = "URL" }\n\nexport default { checkType: Kind.Url, a: (null as any).b };\n';
  writeFileSync(path, text);
  await assert.rejects(checksOfModule({ path, text }), /reading 'b'.*line 3/s);
});
