package import Countersign
import Crypto
package import UAF
package import UAFClient
package import _Primitives

/// Keys in the Secure Enclave, for the authenticators of an app (decision 132).
///
/// A key is in its handle, wrapped by the chip, so that no crash leaves a key behind without a name. Finger, face and
/// passcode are conditions of the key itself: the chip signs only with the operating system's approval of the person. A
/// PIN or a password seals the handle, so that a PIN can be changed without a new key.
package struct EnclaveKeys: DeviceKeys {
    private let chip: any EnclaveChip
    private let person: any PersonCheck
    private let random: RandomSource

    package init(_ chip: any EnclaveChip, _ person: any PersonCheck, random: RandomSource = .system) {
        self.chip = chip
        self.person = person
        self.random = random
    }

    package var keyStore: AuthenticatorModel.KeyStore { .secureEnclave }
    package var verifiesWhileSigning: Bool { true }

    package func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey {
        guard let access = KeyAccess(lock) else { throw DeviceKeyError.closed }
        let key = try self.making { try self.chip.makeSigningKey(access) }
        let handle: EnclaveHandle =
            switch lock {
            case .none: EnclaveHandle(.silent, blob: key.blob)
            case .secret(let secret): try .underSecret(key.blob, secret, of: name, self.random)
            case .system:
                EnclaveHandle(
                    .system, demand: access.demand,
                    enrolledSet: access.demand == .currentBiometry ? self.shortSet ?? [] : [], blob: key.blob)
            }
        return NewDeviceKey(handle: try handle.sealed(for: name, self.random), publicKey: key.publicKey)
    }

    /// Checks nothing: the signature finds out a wrong secret.
    package func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws {}

    package func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock)
        async throws -> [UInt8]
    {
        let opened = try EnclaveHandle(handle, of: name)
        switch (opened.kind, unlocking) {
        case (.silent, .none):
            return try self.using(opened) { try self.chip.sign(message, by: opened.blob, approvedBy: nil) }
        case (.secret, .secret(let secret)):
            let blob = try opened.blob(under: secret, of: name)
            do {
                return try self.using(opened) { try self.chip.sign(message, by: blob, approvedBy: nil) }
            } catch let error as StorageError {
                // The secret was right, so the attempt is the person's again.
                throw DeviceKeyError.uncounted(error)
            }
        case (.system, .system(let prompt)):
            let approval: any PersonApproval
            do {
                approval = try await self.person.ask(opened.demand, opened.demand.prompt(prompt))
            } catch let refusal as SystemRefusal {
                try Task.checkCancellation()
                throw self.failure(refusal, of: opened)
            }
            try Task.checkCancellation()
            return try self.using(opened) { try self.chip.sign(message, by: opened.blob, approvedBy: approval) }
        default: throw DeviceKeyError.closed
        }
    }

    package func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws
        -> [UInt8]
    {
        let opened = try EnclaveHandle(handle, of: name)
        guard opened.kind == .secret else { throw DeviceKeyError.closed }
        let blob = try opened.blob(under: old, of: name)
        return try EnclaveHandle.underSecret(blob, new, of: name, self.random).sealed(for: name, self.random)
    }

    package func makeAgreementKey(_ name: DeviceKeyName) throws -> NewDeviceKey {
        let key = try self.making { try self.chip.makeAgreementKey() }
        let handle = EnclaveHandle(.agreement, blob: key.blob)
        return NewDeviceKey(handle: try handle.sealed(for: name, self.random), publicKey: key.publicKey)
    }

    package func agree(with point: [UInt8], by handle: [UInt8], of name: DeviceKeyName) throws -> SecretBytes {
        let opened = try EnclaveHandle(handle, of: name)
        guard opened.kind == .agreement, (try? P256.KeyAgreement.PublicKey(x963Representation: point)) != nil else {
            throw DeviceKeyError.closed
        }
        return SecretBytes(try self.using(opened) { try self.chip.agree(with: point, by: opened.blob) })
    }

    /// The key was in its handle, so nothing remains to delete.
    package func delete(_ handle: [UInt8], of name: DeviceKeyName) {}

    /// The name of the enrolled set, at most 255 bytes; `nil` if the system does not tell.
    private var shortSet: [UInt8]? { self.person.biometrics().set.map { Array($0.prefix(255)) } }

    private func making<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let refusal as SystemRefusal {
            let isLocked = refusal.meaning == .locked
            throw StorageError(isLocked ? .locked : .unavailable, "no key was made: \(refusal)")
        }
    }

    private func using<Value>(_ handle: EnclaveHandle, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let refusal as SystemRefusal {
            throw self.failure(refusal, of: handle)
        }
    }

    /// Returns the error of a refusal.
    ///
    /// A refusal for any other reason than the person's will means that the key is gone, if the enrolled set is another
    /// set than at the key's creation. The set alone ends no key: the system's name for the set can change with a new
    /// version of the system.
    private func failure(_ refusal: SystemRefusal, of handle: EnclaveHandle) -> any Error {
        let isOfPerson = handle.kind == .system
        switch refusal.meaning {
        case .reading(let reading) where isOfPerson && [.cancelled, .lockedOut].contains(reading):
            return DeviceKeyError.unverified(reading)
        case .reading(let reading) where isOfPerson:
            return self.hasChanged(handle) ? DeviceKeyError.gone : DeviceKeyError.unverified(reading)
        case .nothingEnrolled where isOfPerson, .missing: return DeviceKeyError.gone
        case .sensor(let error) where isOfPerson: return error
        case .locked: return StorageError(.locked, "the device is locked: \(refusal)")
        case .reading, .nothingEnrolled, .sensor, .unknown:
            guard !self.hasChanged(handle) else { return DeviceKeyError.gone }
            return StorageError(.unavailable, "the Secure Enclave does not sign: \(refusal)")
        }
    }

    private func hasChanged(_ handle: EnclaveHandle) -> Bool {
        guard !handle.enrolledSet.isEmpty, let now = self.shortSet else { return false }
        return !constantTimeEqual(handle.enrolledSet, now)
    }
}
