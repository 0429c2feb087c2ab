/** Which packages of Debian hold the libraries a Chromium wants. */
const packages: Readonly<Record<string, string>> = {
  'libasound.so.2': 'libasound2t64',
  'libatk-1.0.so.0': 'libatk1.0-0t64',
  'libatk-bridge-2.0.so.0': 'libatk-bridge2.0-0t64',
  'libatspi.so.0': 'libatspi2.0-0t64',
  'libcairo.so.2': 'libcairo2',
  'libcups.so.2': 'libcups2t64',
  'libdbus-1.so.3': 'libdbus-1-3',
  'libdrm.so.2': 'libdrm2',
  'libexpat.so.1': 'libexpat1',
  'libfontconfig.so.1': 'libfontconfig1',
  'libfreetype.so.6': 'libfreetype6',
  'libgbm.so.1': 'libgbm1',
  'libgio-2.0.so.0': 'libglib2.0-0t64',
  'libglib-2.0.so.0': 'libglib2.0-0t64',
  'libgobject-2.0.so.0': 'libglib2.0-0t64',
  'libgtk-3.so.0': 'libgtk-3-0t64',
  'libnspr4.so': 'libnspr4',
  'libnss3.so': 'libnss3',
  'libnssutil3.so': 'libnss3',
  'libsmime3.so': 'libnss3',
  'libpango-1.0.so.0': 'libpango-1.0-0',
  'libpangocairo-1.0.so.0': 'libpangocairo-1.0-0',
  'libstdc++.so.6': 'libstdc++6',
  'libudev.so.1': 'libudev1',
  'libX11.so.6': 'libx11-6',
  'libX11-xcb.so.1': 'libx11-xcb1',
  'libxcb.so.1': 'libxcb1',
  'libXcomposite.so.1': 'libxcomposite1',
  'libXcursor.so.1': 'libxcursor1',
  'libXdamage.so.1': 'libxdamage1',
  'libXext.so.6': 'libxext6',
  'libXfixes.so.3': 'libxfixes3',
  'libXi.so.6': 'libxi6',
  'libxkbcommon.so.0': 'libxkbcommon0',
  'libXrandr.so.2': 'libxrandr2',
  'libXrender.so.1': 'libxrender1',
  'libxshmfence.so.1': 'libxshmfence1',
  'libXtst.so.6': 'libxtst6',
};

/** Libraries in what the loader says: `libnss3.so => not found`, or its message at a start in vain. */
export function missingLibraries(output: string): string[] {
  const found = [
    ...output.matchAll(/^\s*(\S+\.so[\w.]*) => not found/gm),
    ...output.matchAll(/error while loading shared libraries: (\S+\.so[\w.]*):/g),
  ];
  return [...new Set(found.map(([, name]) => name ?? ''))];
}

/** What to install for them; names the libraries themselves where the package is not known. */
export function packagesFor(libraries: readonly string[]): string {
  const known = libraries.flatMap((name) => packages[name] ?? []);
  const others = libraries.filter((name) => packages[name] === undefined);
  return [
    ...(known.length > 0 ? [`apt-get install ${[...new Set(known)].toSorted().join(' ')}`] : []),
    ...(others.length > 0 ? [`install what holds ${others.join(', ')} (apt-file search)`] : []),
  ].join('; ');
}
