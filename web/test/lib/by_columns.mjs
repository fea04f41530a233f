// Long lists of objects by column, as the format allows.
export function byColumns(value) {
  if (Array.isArray(value)) {
    const objects =
      value.length > 64 && value.every((row) => row !== null && typeof row === 'object' && !Array.isArray(row));
    if (!objects) return value.map(byColumns);
    const names = [...new Set(value.flatMap((row) => Object.keys(row)))];
    return {
      '@columns': Object.fromEntries(names.map((name) => [name, value.map((row) => byColumns(row[name] ?? null))])),
      '@length': value.length
    };
  }
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, byColumns(v)]));
}

// A value whose rows are objects with values of their own, whatever they were read from.
export function asObjects(value) {
  if (Array.isArray(value)) return value.map(asObjects);
  if (value === null || typeof value !== 'object') return value;
  const copy = {};
  for (const key in value) copy[key] = asObjects(value[key]);
  return copy;
}
