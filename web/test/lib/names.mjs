// Names of kernels: ordinary ones, and such as nobody would expect.
export const hostileNames = [
  '<img src=x onerror=alert(1)>',
  '</script><script>window.hacked=1</script>',
  `long_${'a'.repeat(10000)}_end`,
  'bad \ufffd\ufffd bytes \u0000\u0007\u001b[31m control',
  '\u202egnp.exe \u2066right to left\u2069 \u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627',
  '\'; DROP TABLE kernels; -- "quoted" & <b>bold</b>',
  'javascript:alert(1)',
  '${constructor.constructor("return 1")()}',
  '__proto__',
  '😀'.repeat(80)
];

export const plainNames = [
  'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)',
  'ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn',
  'void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false>>(Flash_fwd_params)',
  'void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, int)',
  'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)',
  'Memcpy HtoD (Pinned -> Device)',
  'triton_poi_fused_silu_mul_0'
];
