// RUN: hipgraft-opt %s --split-input-file --hipdnn-plan-memory --verify-contracts | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-plan-memory --remarks 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// Buffers share one arena, which is allocated and freed on the chain of tokens.

// The first and the third are never live at once; the second is beside both.

// CHECK-LABEL: func.func @chain
// CHECK:         %[[T0:.*]] = gpu.wait async
// CHECK:         %[[ARENA:.*]], %[[T1:.*]] = gpu.alloc async [%[[T0]]] () : memref<768xi8>
// CHECK-DAG:     %[[A:.*]] = memref.view %[[ARENA]][%[[AT0:.*]]][] : memref<768xi8> to memref<512xi8>
// CHECK:         %[[T2:.*]] = gpu.memset async [%[[T1]]]
// CHECK:         %[[AT512:.*]] = arith.constant 512 : index
// CHECK:         %[[B:.*]] = memref.view %[[ARENA]][%[[AT512]]][] : memref<768xi8> to memref<256xi8>
// CHECK:         %[[T3:.*]] = gpu.memcpy async [%[[T2]]]
// CHECK:         %[[ATC:.*]] = arith.constant 0 : index
// CHECK:         %[[C:.*]] = memref.view %[[ARENA]][%[[ATC]]][] : memref<768xi8> to memref<256xi8>
// CHECK-DAG:     %[[FIRST:.*]] = memref.view %[[B]]
// CHECK-DAG:     %[[INTO:.*]] = memref.view %[[C]]
// CHECK:         %[[T4:.*]] = gpu.memcpy async [%[[T3]]] %[[INTO]], %[[FIRST]]
// CHECK:         %[[T5:.*]] = gpu.memcpy async [%[[T4]]]
// CHECK:         %[[T6:.*]] = gpu.dealloc async [%[[T5]]] %[[ARENA]]
// CHECK:         gpu.wait [%[[T6]]]
// CHECK-NOT:     memref.alloc
func.func @chain(%y: memref<256xi8>) attributes {hipgraft.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<512xi8>
  %words = memref.view %a[%c0][] : memref<512xi8> to memref<128xi32>
  %t1 = gpu.memset async [%t0] %words, %z : memref<128xi32>, i32
  %b = memref.alloc() : memref<256xi8>
  %half = memref.view %a[%c0][] : memref<512xi8> to memref<256xi8>
  %t2 = gpu.memcpy async [%t1] %b, %half : memref<256xi8>, memref<256xi8>
  %c = memref.alloc() : memref<256xi8>
  %first = memref.view %b[%c0][] : memref<256xi8> to memref<128xi8>
  %into = memref.view %c[%c0][] : memref<256xi8> to memref<128xi8>
  %t3 = gpu.memcpy async [%t2] %into, %first : memref<128xi8>, memref<128xi8>
  %t4 = gpu.memcpy async [%t3] %y, %c : memref<256xi8>, memref<256xi8>
  gpu.wait [%t4]
  return
}

// -----

// A buffer that something else than a device op reads is kept to the end.

// CHECK-LABEL: func.func @escapes
// CHECK:         gpu.alloc async {{.*}} : memref<512xi8>
func.func @escapes(%y: memref<256xi8>) attributes {hipgraft.results = 1 : i64} {
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<256xi8>
  %p = memref.extract_aligned_pointer_as_index %a : memref<256xi8> -> index
  %t1 = gpu.memcpy async [%t0] %a, %y : memref<256xi8>, memref<256xi8>
  %b = memref.alloc() : memref<256xi8>
  %t2 = gpu.memcpy async [%t1] %b, %y : memref<256xi8>, memref<256xi8>
  gpu.wait [%t2]
  return
}

// -----

// Parts of a concatenation are written where they are read, and only there.

// CHECK-LABEL: func.func @parts
// CHECK:         gpu.alloc async {{.*}} : memref<512xi8>
// CHECK:         gpu.memset
// CHECK:         gpu.memset
// CHECK-COUNT-1: gpu.memcpy
// CHECK-NEXT:    gpu.dealloc
func.func @parts(%y: memref<512xi8>) attributes {hipgraft.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %z = arith.constant 0 : i8
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<256xi8>
  %t1 = gpu.memset async [%t0] %a, %z : memref<256xi8>, i8
  %b = memref.alloc() : memref<256xi8>
  %t2 = gpu.memset async [%t1] %b, %z : memref<256xi8>, i8
  %whole = memref.alloc() : memref<512xi8>
  %low = memref.view %whole[%c0][] : memref<512xi8> to memref<256xi8>
  %t3 = gpu.memcpy async [%t2] %low, %a : memref<256xi8>, memref<256xi8>
  %high = memref.view %whole[%c256][] : memref<512xi8> to memref<256xi8>
  %t4 = gpu.memcpy async [%t3] %high, %b : memref<256xi8>, memref<256xi8>
  %t5 = gpu.memcpy async [%t4] %y, %whole : memref<512xi8>, memref<512xi8>
  gpu.wait [%t5]
  return
}

// -----

// So they are if the last part is copied first.

// CHECK-LABEL: func.func @parts_from_the_end
// CHECK:         gpu.alloc async {{.*}} : memref<512xi8>
// CHECK:         gpu.memset
// CHECK:         gpu.memset
// CHECK-COUNT-1: gpu.memcpy
// CHECK-NEXT:    gpu.dealloc
func.func @parts_from_the_end(%y: memref<512xi8>) attributes {hipgraft.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %z = arith.constant 0 : i8
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<256xi8>
  %t1 = gpu.memset async [%t0] %a, %z : memref<256xi8>, i8
  %b = memref.alloc() : memref<256xi8>
  %t2 = gpu.memset async [%t1] %b, %z : memref<256xi8>, i8
  %whole = memref.alloc() : memref<512xi8>
  %high = memref.view %whole[%c256][] : memref<512xi8> to memref<256xi8>
  %t3 = gpu.memcpy async [%t2] %high, %b : memref<256xi8>, memref<256xi8>
  %low = memref.view %whole[%c0][] : memref<512xi8> to memref<256xi8>
  %t4 = gpu.memcpy async [%t3] %low, %a : memref<256xi8>, memref<256xi8>
  %t5 = gpu.memcpy async [%t4] %y, %whole : memref<512xi8>, memref<512xi8>
  gpu.wait [%t5]
  return
}

// -----

// A copy stays if its source is used later.

// REMARK:        'gpu.memcpy' op stays: its source is used afterwards

// CHECK-LABEL: func.func @later
// CHECK-COUNT-4: gpu.memcpy
func.func @later(%y: memref<256xi8>) attributes {hipgraft.results = 1 : i64} {
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<256xi8>
  %t1 = gpu.memcpy async [%t0] %a, %y : memref<256xi8>, memref<256xi8>
  %b = memref.alloc() : memref<256xi8>
  %t2 = gpu.memcpy async [%t1] %b, %a : memref<256xi8>, memref<256xi8>
  %t3 = gpu.memcpy async [%t2] %a, %y : memref<256xi8>, memref<256xi8>
  %t4 = gpu.memcpy async [%t3] %y, %b : memref<256xi8>, memref<256xi8>
  gpu.wait [%t4]
  return
}

// -----

// A copy stays if the whole target would be live beside a large buffer.

// REMARK:        'gpu.memcpy' op stays: 1572864 instead of 1310720 bytes would be live
// CHECK-LABEL: func.func @grows
// CHECK:         gpu.alloc async {{.*}} : memref<1310720xi8>
func.func @grows(%y: memref<1048576xi8>, %z: memref<524288xi8>) attributes {hipgraft.results = 2 : i64} {
  %c0 = arith.constant 0 : index
  %n = arith.constant 0 : i8
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<262144xi8>
  %t1 = gpu.memset async [%t0] %a, %n : memref<262144xi8>, i8
  %x = memref.alloc() : memref<1048576xi8>
  %t2 = gpu.memset async [%t1] %x, %n : memref<1048576xi8>, i8
  %t3 = gpu.memcpy async [%t2] %y, %x : memref<1048576xi8>, memref<1048576xi8>
  %whole = memref.alloc() : memref<524288xi8>
  %low = memref.view %whole[%c0][] : memref<524288xi8> to memref<262144xi8>
  %t4 = gpu.memcpy async [%t3] %low, %a : memref<262144xi8>, memref<262144xi8>
  %t5 = gpu.memcpy async [%t4] %z, %whole : memref<524288xi8>, memref<524288xi8>
  gpu.wait [%t5]
  return
}

// -----

// A copy goes if less than a page more memory is live then.

// CHECK-LABEL: func.func @grows_little
// CHECK:         gpu.alloc async {{.*}} : memref<1536xi8>
// CHECK-COUNT-2: gpu.memcpy
// CHECK-NOT:     gpu.memcpy
func.func @grows_little(%y: memref<1024xi8>, %z: memref<512xi8>) attributes {hipgraft.results = 2 : i64} {
  %c0 = arith.constant 0 : index
  %n = arith.constant 0 : i8
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<256xi8>
  %t1 = gpu.memset async [%t0] %a, %n : memref<256xi8>, i8
  %x = memref.alloc() : memref<1024xi8>
  %t2 = gpu.memset async [%t1] %x, %n : memref<1024xi8>, i8
  %t3 = gpu.memcpy async [%t2] %y, %x : memref<1024xi8>, memref<1024xi8>
  %whole = memref.alloc() : memref<512xi8>
  %low = memref.view %whole[%c0][] : memref<512xi8> to memref<256xi8>
  %t4 = gpu.memcpy async [%t3] %low, %a : memref<256xi8>, memref<256xi8>
  %t5 = gpu.memcpy async [%t4] %z, %whole : memref<512xi8>, memref<512xi8>
  gpu.wait [%t5]
  return
}

// -----

// A copy stays if kernels could not read its target's address.

// REMARK:        'gpu.memcpy' op stays: its target is at byte 8 of a buffer
// CHECK-LABEL: func.func @misaligned
// CHECK-COUNT-2: gpu.memcpy
func.func @misaligned(%y: memref<264xi8>) attributes {hipgraft.results = 1 : i64} {
  %c8 = arith.constant 8 : index
  %n = arith.constant 0 : i8
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<256xi8>
  %t1 = gpu.memset async [%t0] %a, %n : memref<256xi8>, i8
  %whole = memref.alloc() : memref<264xi8>
  %high = memref.view %whole[%c8][] : memref<264xi8> to memref<256xi8>
  %t2 = gpu.memcpy async [%t1] %high, %a : memref<256xi8>, memref<256xi8>
  %t3 = gpu.memcpy async [%t2] %y, %whole : memref<264xi8>, memref<264xi8>
  gpu.wait [%t3]
  return
}

// -----

// A copy that the host waits for stays.

// REMARK:        'gpu.memcpy' op stays: it does not wait for one token and return one
// CHECK-LABEL: func.func @without_token
// CHECK-COUNT-2: gpu.memcpy
func.func @without_token(%y: memref<256xi8>) attributes {hipgraft.results = 1 : i64} {
  %n = arith.constant 0 : i8
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<256xi8>
  %t1 = gpu.memset async [%t0] %a, %n : memref<256xi8>, i8
  gpu.wait [%t1]
  %b = memref.alloc() : memref<256xi8>
  gpu.memcpy %b, %a : memref<256xi8>, memref<256xi8>
  %t2 = gpu.wait async
  %t3 = gpu.memcpy async [%t2] %y, %b : memref<256xi8>, memref<256xi8>
  gpu.wait [%t3]
  return
}
