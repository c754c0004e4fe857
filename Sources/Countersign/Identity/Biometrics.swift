import Ceremony
public import UAFClient
import _Primitives

/// The fingers and faces that the operating system recognises.
///
/// All functions throw ``CountersignError`` and nothing else. Never call the blocking forms (`…Synchronous`) on the
/// main thread or in a task.
public struct Biometrics: Sendable {
    let life: SDKLife

    /// Asks the operating system to recognise the finger or face of the person who authenticates. On a device whose
    /// keys ask for the finger or face themselves, the dialog appears when the authentication is finished.
    ///
    /// A recognition is valid for one signature, within two minutes; afterwards the operating system asks again when
    /// the factor signs. Throws ``CountersignError``: `notPersonalized`, `factorNotEnrolled`, `biometricInvalidated` if
    /// other fingers or faces are enrolled since, `biometricCancelled`, `biometricUnavailable`, `biometricLockedOut`.
    public func factor(idmIdentifier: String, prompt: SystemPrompt = SystemPrompt()) async throws
        -> sending BiometricFactor
    {
        BiometricFactor(
            try await self.life.running { core in
                try await IdentityFactors(core: core).witness(
                    for: try core.identity(of: idmIdentifier), prompt: prompt)
            })
    }

    /// Does the same as ``factor(idmIdentifier:prompt:)``, but blocks.
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

    /// Asks the operating system to recognise the finger or face for an enrolment, with a personalization or later. The
    /// factor becomes invalid when other fingers or faces are enrolled in the operating system.
    ///
    /// Throws ``CountersignError``: `biometricCancelled`, `biometricUnavailable`, `biometricLockedOut`.
    public func factorForEnrolment(prompt: SystemPrompt = SystemPrompt()) async throws -> sending BiometricFactor {
        BiometricFactor(
            try await self.life.running { core in
                try await IdentityFactors(core: core).witness(for: nil, prompt: prompt)
            })
    }

    /// Does the same as ``factorForEnrolment(prompt:)``, but blocks.
    public func factorForEnrolmentSynchronous(prompt: SystemPrompt = SystemPrompt()) throws -> BiometricFactor {
        let life = self.life
        return BiometricFactor(
            try Blocking.wait {
                try await life.running { core in
                    try await IdentityFactors(core: core).witness(for: nil, prompt: prompt)
                }
            })
    }

    /// `true` if a finger or face can be enrolled on this device now: the device has a sensor, and a finger or face is
    /// enrolled in the operating system. Throws ``CountersignError`` `notInitialized`.
    public var isAvailable: Bool {
        get async throws {
            try await self.life.running { core in await IdentityFactors(core: core).canEnrollBiometric }
        }
    }

    /// Does the same as ``isAvailable``, but blocks.
    public var isAvailableSynchronous: Bool { get throws { try Blocking.wait { try await self.isAvailable } } }
}
