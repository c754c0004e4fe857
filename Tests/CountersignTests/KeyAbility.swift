import CountersignTestKit
import Testing
import UAFClient

/// Where the phones of a test keep their keys.
enum KeyAbility: CaseIterable {
    /// In the storage: the person is verified before a key is opened.
    case software
    /// In a chip: the person is verified as a part of each signature, and no key is given out.
    case verifying

    @TaskLocal static var current = KeyAbility.software

    /// The keys of a phone with those sensors.
    func keys(_ sensor: ScriptedSensor, _ camera: ScriptedSensor, _ passcode: ScriptedPasscode) -> VerifyingKeys? {
        switch self {
        case .software: nil
        case .verifying: VerifyingKeys(fingerprintSensor: sensor, faceSensor: camera, devicePasscode: passcode)
        }
    }
}

/// Runs each test of a suite once for each place where phones keep keys: what an app sees is the same.
struct OverEachKeyAbility: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        for ability in KeyAbility.allCases {
            try await KeyAbility.$current.withValue(ability) { try await function() }
        }
    }
}

extension Trait where Self == OverEachKeyAbility {
    static var overEachKeyAbility: Self { Self() }
}
