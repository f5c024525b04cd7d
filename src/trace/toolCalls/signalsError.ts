import { isJsonObject, type Json } from '../../common/json.ts';

const ERROR_TEXT =
  /^\s*(?:(?:internal server |tool )?error\b|traceback \(most recent|exception\b|fatal:|[\w.]+(?:Error|Exception):)/i;
const ERROR_STATUS = /^(?:error|failed|failure)$/i;

/**
 * Returns whether the response to a call says that the call failed, as a world that is a model can only write, and as
 * many tools do. `value`: the response, parsed if it is JSON.
 */
export function signalsError(value: Json): boolean {
  if (typeof value === 'string') return ERROR_TEXT.test(value);
  if (!isJsonObject(value)) return false;
  const { error, errors, isError, is_error: isErrorToo, success, ok, status, code } = value;
  return (
    (error !== undefined && error !== null && error !== false && error !== '') ||
    (Array.isArray(errors) && errors.length > 0) ||
    isError === true ||
    isErrorToo === true ||
    success === false ||
    ok === false ||
    (typeof status === 'string' && ERROR_STATUS.test(status)) ||
    isHttpError(status) ||
    isHttpError(code)
  );
}

function isHttpError(value: Json | undefined): boolean {
  return typeof value === 'number' && value >= 400 && value < 600;
}
