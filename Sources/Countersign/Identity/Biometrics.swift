import Ceremony
public import UAFClient
import _Primitives

/// Fingers and faces, as the operating system knows them. It throws ``CountersignError``, and nothing else; the forms that
/// block (`…Synchronous`) are never called on the main thread, or in a task.
public struct Biometrics: Sendable {
    let life: SDKLife

    /// Asks the operating system for the finger or the face of whoever authenticates. Where the device's keys have it ask
    /// themselves, its dialog shows when the authentication is finished.
    ///
    /// What was recognised counts for one signature, within two minutes. Throws ``CountersignError``: `notPersonalized`,
    /// `factorNotEnrolled`, `biometricInvalidated` once other fingers or faces are enrolled, `biometricCancelled`,
    /// `biometricUnavailable`, `biometricLockedOut`.
    public func factor(idmIdentifier: String, prompt: SystemPrompt = SystemPrompt()) async throws
        -> sending BiometricFactor
    {
        BiometricFactor(
            try await self.life.running { core in
                try await IdentityFactors(core: core).witness(
                    for: try core.identity(of: idmIdentifier), prompt: prompt)
            })
    }

    /// As ``factor(idmIdentifier:prompt:)``. It blocks.
    public func factorSynchronous(idmIdentifier: String, prompt: SystemPrompt = SystemPrompt()) throws
        -> BiometricFactor
    {
        let life = self.life
        return BiometricFactor(
            try Blocking.wait {
                try await life.running { core in
                    try await IdentityFactors(core: core).witness(
                        for: try core.identity(of: idmIdentifier), prompt: prompt)
                }
            })
    }

    /// Asks the operating system for the finger or the face that is to be enrolled, with a personalization or later. The
    /// factor ends when other fingers or faces are enrolled with the operating system.
    ///
    /// Throws ``CountersignError``: `biometricCancelled`, `biometricUnavailable`, `biometricLockedOut`.
    public func factorForEnrolment(prompt: SystemPrompt = SystemPrompt()) async throws -> sending BiometricFactor {
        BiometricFactor(
            try await self.life.running { core in
                try await IdentityFactors(core: core).witness(for: nil, prompt: prompt)
            })
    }

    /// As ``factorForEnrolment(prompt:)``. It blocks.
    public func factorForEnrolmentSynchronous(prompt: SystemPrompt = SystemPrompt()) throws -> BiometricFactor {
        let life = self.life
        return BiometricFactor(
            try Blocking.wait {
                try await life.running { core in
                    try await IdentityFactors(core: core).witness(for: nil, prompt: prompt)
                }
            })
    }

    /// Whether a finger or a face can be enrolled on this device now: there is a sensor, and somebody is known to the
    /// operating system. Throws ``CountersignError`` `notInitialized`.
    public var isAvailable: Bool {
        get async throws {
            try await self.life.running { core in await IdentityFactors(core: core).canEnrollBiometric }
        }
    }

    /// As ``isAvailable``. It blocks.
    public var isAvailableSynchronous: Bool { get throws { try Blocking.wait { try await self.isAvailable } } }
}
