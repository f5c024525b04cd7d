/** What is said of a container that crashes, from the end of its log. The texts are those of vLLM 0.32. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crashReason } from '../../../../src/client/targets/crashReason.ts';

const BUCKET =
  'botocore.errorfactory.NoSuchBucket: An error occurred (NoSuchBucket) when calling the ListObjectsV2 operation: ' +
  'The specified bucket does not exist';

test('the error that ended a program is its reason, not the lines around it', () => {
  assert.equal(crashReason(`    raise error_class(parsed_response, operation_name)\n${BUCKET}\n\n`), BUCKET);
  assert.equal(
    crashReason(
      [
        "(Worker pid=9) ERROR 11-28 14:41:15 [multiproc_executor.py:953] ValueError: No response: b'File access error'",
        '  File "/usr/lib/engine/utils.py", line 1431, in wait_for_engine_startup',
        'RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
      ].join('\n'),
    ),
    "ValueError: No response: b'File access error'",
    'an error that refers to another one is not it',
  );
  assert.match(
    crashReason(
      'pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n' +
        "  Value error, Invalid repository ID or local directory specified: '/work/x'.\nPlease verify:\n1. …\n",
    ) ?? '',
    /1 validation error for ModelConfig: Value error, Invalid repository ID/,
  );
});

test('without an error, the last line is the reason; long ones are cut', () => {
  assert.equal(crashReason('starting\nout of disk\n'), 'out of disk');
  assert.equal(crashReason('\n \n'), undefined);
  assert.equal(crashReason('x'.repeat(1_000))?.length, 301);
});
