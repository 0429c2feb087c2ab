/**
 * Names of types in descriptors, in full and with a leading dot. The parser, and servers that use it for
 * reflection, name them as their file does.
 */
import type { DescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';

/** Names are looked up in each scope around them, so that long ones would take minutes. */
const maxNameLength = 2_000;

function scopeOf({ package: name }: FileDescriptorProto): string {
  return name === '' ? '' : `.${name}`;
}

function namesIn(scope: string, { name, nestedType, enumType }: DescriptorProto): string[] {
  const own = `${scope}.${name}`;
  if (own.length > maxNameLength) throw new Error('a name of a type is too long');
  return [
    own,
    ...enumType.map((one) => `${own}.${one.name}`),
    ...nestedType.flatMap((one) => namesIn(own, one)),
  ];
}

function namesOf(file: FileDescriptorProto): string[] {
  const scope = scopeOf(file);
  return [
    ...file.messageType.flatMap((one) => namesIn(scope, one)),
    ...file.enumType.map(({ name }) => `${scope}.${name}`),
  ];
}

/** Changes these files; `others` have types that they use. Unknown names stay as they are. */
export function qualifyNames(
  files: readonly FileDescriptorProto[],
  others: readonly FileDescriptorProto[] = [],
): void {
  const names = new Set([...files, ...others].flatMap(namesOf));
  const inFull = (name: string, from: string): string => {
    if (name === '' || name.startsWith('.')) return name;
    for (let scope = from; ; scope = scope.slice(0, scope.lastIndexOf('.'))) {
      if (names.has(`${scope}.${name}`)) return `${scope}.${name}`;
      if (scope === '') return name;
    }
  };
  const qualify = (message: DescriptorProto, above: string): void => {
    const scope = `${above}.${message.name}`;
    for (const field of message.field) {
      field.typeName = inFull(field.typeName, scope);
      field.jsonName ||= field.name;
    }
    for (const nested of message.nestedType) qualify(nested, scope);
    message.extension = [];
  };
  for (const file of files) {
    const scope = scopeOf(file);
    // JSON has no place for extensions in common use, and the parser names them wrongly.
    file.extension = [];
    for (const message of file.messageType) qualify(message, scope);
    for (const method of file.service.flatMap((service) => service.method)) {
      method.inputType = inFull(method.inputType, scope);
      method.outputType = inFull(method.outputType, scope);
    }
  }
}
