/** Links of a built site that lead nowhere. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Pages of a running control plane beside the site: not part of what is built. */
const besideTheSite = new Set(['../docs', '../openapi.json', '../console/']);

export function deadLinks(folder: string): string[] {
  const pages = globSync('**/*.html', { cwd: folder });
  const anchors = new Map(
    pages.map((page) => [
      page,
      new Set(
        [...readFileSync(join(folder, page), 'utf8').matchAll(/ id="([^"]+)"/g)].map(
          ([, id]) => id,
        ),
      ),
    ]),
  );
  return pages.flatMap((page) =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/ (?:href|src|srcset)="([^"]+)"/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^(https?|mailto|data):/.test(link) && !besideTheSite.has(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? page : normalize(join(dirname(page), decodeURI(path)));
        if (!existsSync(join(folder, target))) return true;
        return anchor !== undefined && !anchors.get(target)?.has(decodeURIComponent(anchor));
      })
      .map((link) => `${page}: ${link} leads nowhere`),
  );
}
