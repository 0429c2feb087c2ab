/** The Node of a platform where that of the catalogue is not in the registry, by runtime and platform. */
export const nodeSubstitutions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2026.04': { 'linux-arm64': '24.20.0', 'darwin-arm64': '24.0.0' },
  '2025.04': { 'linux-arm64': '22.13.1', 'darwin-arm64': '22.23.2' },
  '2024.09': { 'linux-arm64': '18.20.4', 'darwin-arm64': '18.19.1' },
  '2024.02': { 'linux-arm64': '18.20.4', 'darwin-arm64': '18.19.1' },
  '2023.09': { 'linux-arm64': '18.20.4', 'darwin-arm64': '18.19.1' },
  '2023.02': { 'darwin-arm64': '16.0.0' },
  '2022.10': { 'darwin-arm64': '16.0.0' },
};

/**
 * Packages of packages that are held back, by runtime: npm would take their newest version, and that
 * does not work on the Node of the runtime.
 */
export const heldBack: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // 0.3.10 requires an ES module, which Node 22.11 cannot; tedious and the Azure clients use it.
  '2025.04': { '@typespec/ts-http-runtime': '0.3.9' },
  // And so on Node 18.20.
  '2024.09': { '@typespec/ts-http-runtime': '0.3.9' },
  '2024.02': { '@typespec/ts-http-runtime': '0.3.9' },
};
