import assert from 'node:assert/strict';
import test from 'node:test';
import { maxProtoLength, ProtoProblem, readProtoFile } from '@monitor/shared/grpc/proto-file.ts';
import { findMethod, messageFrom } from '@monitor/shared/grpc/called-method.ts';
import { fromBinary, toBinary, toJson } from '@bufbuild/protobuf';

const problemOf = async (text: string): Promise<string> => {
  try {
    await readProtoFile(text);
    return '';
  } catch (error) {
    assert.ok(error instanceof ProtoProblem, String(error));
    return error.message;
  }
};

test('messages keep their forms of JSON: common types, maps, enums, oneofs and large numbers', async () => {
  const registry = await readProtoFile(`syntax = "proto3";
    package shop.v1;
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message Order {
      enum Kind { NONE = 0; GIFT = 1; }
      message Item { string item_name = 1; }
      string order_id = 1;
      google.protobuf.Timestamp placed_at = 2;
      repeated Item items = 3;
      map<string, int64> counts = 4;
      optional int32 open = 5;
      oneof way { string street = 6; int32 box = 7; }
      Kind kind = 8;
      google.protobuf.StringValue note = 9;
      bytes raw = 10 [json_name = "bytesOfIt"];
    }
    service Orders { rpc Get(Order) returns (Order); rpc Watch(Order) returns (stream Order);
      rpc Upload(stream Order) returns (Order); }`);
  const { input } = findMethod('/shop.v1.Orders/Get', registry);
  const given = {
    ...{ orderId: 'A', placedAt: '2024-01-01T00:00:00Z', items: [{ itemName: 'x' }] },
    ...{ counts: { a: '9007199254740993' }, open: 0, box: 3, kind: 'GIFT', note: 'n' },
    bytesOfIt: 'AQI=',
  };
  const message = await messageFrom(JSON.stringify(given), input, registry);
  assert.deepEqual(toJson(input, fromBinary(input, toBinary(input, message))), given);
  assert.equal(findMethod('shop.v1.Orders/Watch', registry).methodKind, 'server_streaming');
  assert.throws(() => findMethod('shop.v1.Orders/Upload', registry), /takes a stream/);
});

test('older and newer languages are read, with types without a package', async () => {
  for (const text of [
    'message A { required string a = 1; optional int32 n = 2 [default = 3]; } service S { rpc G(A) returns (A); }',
    'edition = "2023"; message A { string a = 1; } service S { rpc G(A) returns (A); }',
  ]) {
    const registry = await readProtoFile(text);
    assert.equal(findMethod('S/G', registry).input.typeName, 'A');
  }
});

test('what cannot be read says where', async () => {
  const head = 'syntax = "proto3";\n';
  assert.match(await problemOf(`${head}message A { string a = ; }`), /^line 2: /);
  assert.match(await problemOf(`${head}message A { Foo a = 1; }`), /Foo/);
  assert.match(await problemOf(`${head}import "google/api/http.proto";`), /http\.proto/);
  assert.match(await problemOf(`${head}message A { string a = 1; string a = 2; }`), /duplicate/);
  assert.match(await problemOf('syntax = "proto9"; message A {}'), /proto9/);
  assert.match(await problemOf(''), /no messages and no services/);
});

test('a file that takes the parser long is refused before', async () => {
  const fields = Array.from({ length: 15_000 }, (_, index) => `A a${index} = ${index + 1};`);
  for (const [text, words] of [
    [`message A { ${fields.join('')} }`, /more than 1000 statements/],
    [`message ${'A'.repeat(2_001)} { optional string a = 1; }`, /a name of a type is too long/],
    [`message A { /* } */ ${fields.join('')} }`, /more than 1000 statements/],
    ['message A {'.repeat(20_000), /too deeply/],
    [`message A { option x = ${'{a:'.repeat(50_000)}`, /too deeply|line 1/],
    ['/*'.repeat(130_000), /line 1/],
  ] as const) {
    assert.match(await problemOf(text.slice(0, maxProtoLength)), words);
  }
});
