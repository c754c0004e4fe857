import CountersignTPM
import Foundation
import UAFClient
import _Primitives

/// The place of a phone's new keys: the phone's encrypted file, or a TPM 2.0.
///
/// A phone keeps the place in its folder, because its keys sign nowhere else.
enum PhoneKeyStore: Equatable {
    case file
    case tpm(tcti: String)

    /// Chooses the place by the options, or else as before. Throws a usage ``Refusal`` for a file if the phone may
    /// already have keys in a chip.
    init(_ options: PhoneOptions) throws {
        let kept = Self.kept(home: options.homePath)
        switch (options.keyStore, kept) {
        case (nil, _): self = kept
        case (.file, .file): self = .file
        case (.file, .tpm):
            throw Refusal.usage("The keys of this phone are in a TPM. After `wipe` they can be in a file.")
        case (.tpm, .tpm) where options.tcti == nil: self = kept
        case (.tpm, _): self = .tpm(tcti: options.tcti ?? TPMKeys.machineChip)
        }
    }

    /// Keeps the place for later commands, once its chip has answered.
    func keep(home: String) throws {
        guard case .tpm(let tcti) = self, self != Self.kept(home: home) else { return }
        try SimulatedState.write(["tcti": .string(tcti)], Self.path(home))
    }

    /// Returns the place that the phone keeps; the file for a phone that keeps none.
    static func kept(home: String) -> Self {
        guard let tcti = SimulatedState.read(Self.path(home)).flatMap({ try? $0.string("tcti") }) else { return .file }
        return .tpm(tcti: tcti)
    }

    /// Returns the keys in the chip; `nil` for keys in the file. Throws ``Refusal`` without a chip.
    func keys(_ finger: SimulatedSensor, _ face: SimulatedSensor, _ passcode: SimulatedPasscode) throws
        -> (any DeviceKeys)?
    {
        guard case .tpm(let tcti) = self else { return nil }
        // tpm2-tss tells the terminal of each refusal, for example of a wrong PIN.
        setenv("TSS2_LOG", "all+NONE", 0)
        do {
            return try TPMKeys(tcti: tcti, fingerprintSensor: finger, faceSensor: face, devicePasscode: passcode)
        } catch let error as StorageError {
            throw Refusal.notFound("no-tpm", "The keys of this phone are in a TPM, and \(error.reason).")
        }
    }

    private static func path(_ home: String) -> String { "\(home)/key-store.json" }
}
