public import Countersign
import UAFClient
import _Primitives

/// Secrets that the Keychain releases for a finger or a face.
///
/// The Keychain does not say if an item never existed or has ended with the enrolled set. A second item without a guard
/// notes each secret, so that ``contains(_:)`` asks nobody and ``release(_:_:)`` knows a changed set.
public struct KeychainGuardedKeys: BiometricKeys {
    private let person: any PersonCheck
    private let keychain: any Keychain
    private let service: String
    private let notes: KeychainValues

    package init(_ person: any PersonCheck, _ keychain: any Keychain, service: String) {
        self.person = person
        self.keychain = keychain
        self.service = service
        self.notes = KeychainValues(keychain, service: service + ".notes")
    }

    /// Returns `true` if a finger or face is enrolled. Throws ``SensorError``; see `BiometricKeys`.
    public func isEnrolled() async throws -> Bool { try await SystemSensor(self.person).enrolledSet() != nil }

    /// Stores a secret behind a finger or face; see `BiometricKeys`.
    public func keep(_ secret: SecretBytes, as name: String, guardedBy guardian: BiometricGuard) async throws {
        guard try await self.isEnrolled() else {
            throw StorageError(.unavailable, "no finger or face is enrolled to guard it by")
        }
        // The value of a guarded item cannot be replaced without a question, so the item is made anew.
        try self.remove(name)
        let status = secret.withBytes {
            self.keychain.add(Array($0), as: self.item(name), .biometrics(guardian))
        }
        guard status == .success else { throw status.failure("write") }
        try self.notes.write(Array(guardian.rawValue.utf8), to: name)
    }

    /// Returns `true` if a secret was stored, without a question.
    public func contains(_ name: String) throws -> Bool { try self.notes.read(name) != nil }

    /// Asks for a finger or face, once, and reads the secret with the approval. A secret that has gone although it was
    /// noted has ended with the enrolled set (`changed`).
    public func release(_ name: String, _ prompt: SystemPrompt) async throws -> BiometricRelease {
        guard let noted = try self.notes.read(name) else { return .missing }
        guard try await self.isEnrolled() else { return self.ended(name) }
        let isCurrent = noted == Array(BiometricGuard.currentSet.rawValue.utf8)
        let demand = isCurrent ? PersonDemand.currentBiometry : .anyBiometry
        let approval: any PersonApproval
        do {
            approval = try await self.person.ask(demand, demand.prompt(prompt))
        } catch let refusal as SystemRefusal {
            try Task.checkCancellation()
            switch refusal.meaning {
            case .reading(.cancelled): return .cancelled
            case .reading(.noMatch(let hint)): return .noMatch(hint: hint)
            case .reading(.lockedOut): return .lockedOut
            case .nothingEnrolled: return self.ended(name)
            case .sensor(let error): throw error
            case .reading(.match), .locked, .missing, .unknown: throw SensorError.timedOut
            }
        }
        switch self.keychain.value(of: self.item(name), approvedBy: approval) {
        case .value(let value): return .released(SecretBytes(value))
        case .refused(.itemNotFound): return self.ended(name)
        case .refused(.userCancelled): return .cancelled
        case .refused(.authenticationFailed): return .noMatch(hint: "")
        case .refused(let status): throw status.failure("read")
        }
    }

    /// Removes the secret; see `BiometricKeys`.
    public func remove(_ name: String) throws {
        try self.notes.remove(name)
        let status = self.keychain.remove(self.item(name))
        guard [.success, .itemNotFound].contains(status) else { throw status.failure("remove") }
    }

    private func ended(_ name: String) -> BiometricRelease {
        // The caller needs the reason. A secret that cannot be removed now is removed at the next release.
        try? self.remove(name)
        return .changed
    }

    private func item(_ name: String) -> KeychainItem { KeychainItem(service: self.service, account: name) }
}
