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
