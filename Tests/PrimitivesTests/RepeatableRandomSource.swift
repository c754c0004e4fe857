import Synchronization
import _Primitives

extension RandomSource {
    /// The bytes of a SplitMix64 generator: the same run after run.
    static func repeatable(seed: UInt64) -> RandomSource {
        let state = Mutex(seed)
        return RandomSource { count in
            state.withLock { state in
                (0..<count).map { _ in
                    state &+= 0x9E37_79B9_7F4A_7C15
                    var value = state
                    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
                    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
                    return UInt8(truncatingIfNeeded: value ^ (value >> 31))
                }
            }
        }
    }
}
