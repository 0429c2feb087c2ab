/** The two services that gRPC itself has, in the text of their `.proto` files. */
import type { DescMethod, FileRegistry } from '@bufbuild/protobuf';
import { readProtoFile } from '@monitor/shared/grpc/proto-file.ts';

const health = `syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }`;

/** Version 1 and its alpha differ in their package. The parts that are asked for. */
const reflection = (version: string) => `syntax = "proto3";
package grpc.reflection.${version};
message ServerReflectionRequest {
  string host = 1;
  oneof message_request {
    string file_by_filename = 3;
    string file_containing_symbol = 4;
    string list_services = 7;
  }
}
message ServerReflectionResponse {
  oneof message_response {
    FileDescriptorResponse file_descriptor_response = 4;
    ListServiceResponse list_services_response = 6;
    ErrorResponse error_response = 7;
  }
}
message FileDescriptorResponse { repeated bytes file_descriptor_proto = 1; }
message ListServiceResponse { repeated ServiceResponse service = 1; }
message ServiceResponse { string name = 1; }
message ErrorResponse { int32 error_code = 1; string error_message = 2; }
service ServerReflection {
  rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse);
}`;

export const reflectionVersions = ['v1', 'v1alpha'] as const;
export type ReflectionVersion = (typeof reflectionVersions)[number];

const read = new Map<string, Promise<FileRegistry>>();

function typesOf(text: string): Promise<FileRegistry> {
  let registry = read.get(text);
  if (registry === undefined) {
    registry = readProtoFile(text);
    read.set(text, registry);
  }
  return registry;
}

/** Types of `grpc.health.v1.Health/Check`. */
export const healthTypes = (): Promise<FileRegistry> => typesOf(health);

/** `ServerReflectionInfo` of a version. */
export async function reflectionMethod(version: ReflectionVersion): Promise<DescMethod> {
  const service = `grpc.reflection.${version}.ServerReflection`;
  const [method] = (await typesOf(reflection(version))).getService(service)?.methods ?? [];
  if (method === undefined) throw new Error(`no method in ${service}`);
  return method;
}
