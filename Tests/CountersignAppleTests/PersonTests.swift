import Countersign
import CountersignApple
import Testing
import UAFClient
import _Primitives

@Suite("Decision 132: answers of the operating system about the person")
struct PersonTests {
    private let keychain = MemoryKeychain()
    private let person = ScriptedPerson()

    private var sensor: SystemSensor { SystemSensor(self.person) }

    private static let answers: [(Int, SystemRefusal.Meaning)] = [
        (-1, .reading(.noMatch(hint: ""))), (-2, .reading(.cancelled)), (-3, .reading(.cancelled)),
        (-4, .reading(.cancelled)), (-5, .nothingEnrolled), (-6, .sensor(.disconnected)), (-7, .nothingEnrolled),
        (-8, .reading(.lockedOut)), (-9, .reading(.cancelled)), (-10, .reading(.cancelled)),
        (-12, .sensor(.disconnected)), (-13, .sensor(.disconnected)), (-1004, .sensor(.disconnected)), (-99, .unknown),
    ]

    @Test("each number of LocalAuthentication has its meaning", arguments: Self.answers)
    func localAuthentication(code: Int, meaning: SystemRefusal.Meaning) {
        #expect(SystemRefusal(domain: "com.apple.LocalAuthentication", code: code).meaning == meaning)
    }

    private static let numbers: [(String, Int, SystemRefusal.Meaning)] = [
        ("NSOSStatusErrorDomain", -128, .reading(.cancelled)),
        ("NSOSStatusErrorDomain", -25_293, .reading(.noMatch(hint: ""))),
        ("NSOSStatusErrorDomain", -25_308, .locked), ("NSOSStatusErrorDomain", -25_300, .missing),
        ("NSOSStatusErrorDomain", -26_275, .missing), ("NSOSStatusErrorDomain", -50, .unknown),
        ("CryptoTokenKit", -3, .missing), ("CryptoTokenKit", -6, .missing),
        ("CryptoTokenKit", -4, .reading(.cancelled)), ("CryptoTokenKit", -5, .reading(.noMatch(hint: ""))),
        ("CryptoTokenKit", -8, .unknown), ("NSCocoaErrorDomain", -2, .unknown),
    ]

    @Test("a number of keys and tokens has its meaning, and one of another domain has none", arguments: Self.numbers)
    func keysAndTokens(domain: String, code: Int, meaning: SystemRefusal.Meaning) {
        #expect(SystemRefusal(domain: domain, code: code).meaning == meaning)
    }

    @Test("the enrolled set is the system's, nothing enrolled is no set, and a locked sensor leaves the set unknown")
    func enrolledSet() async throws {
        #expect(try await self.sensor.enrolledSet() == [1])
        self.person.enrol([2])
        #expect(try await self.sensor.enrolledSet() == [2])
        // The system may tell the set of a locked sensor.
        self.person.enrol([2], refusal: -8)
        #expect(try await self.sensor.enrolledSet() == [2])
        self.person.enrol(nil, refusal: -7)
        #expect(try await self.sensor.enrolledSet() == nil)
        self.person.enrol(nil, refusal: -5)
        #expect(try await self.sensor.enrolledSet() == nil)
        for refusal in [-6, -8] {
            self.person.enrol(nil, refusal: refusal)
            await #expect(throws: SensorError.disconnected) { try await self.sensor.enrolledSet() }
        }
    }

    @Test("a reading is the system's answer")
    func reading() async throws {
        let prompt = SystemPrompt(reason: "Sign in", fallbackTitle: "Passcode")
        #expect(try await self.sensor.read(prompt, allowingDevicePasscode: false) == .match)
        self.person.refuse(-1, -2, -8)
        #expect(try await self.sensor.read(prompt, allowingDevicePasscode: false) == .noMatch(hint: ""))
        #expect(try await self.sensor.read(prompt, allowingDevicePasscode: false) == .cancelled)
        #expect(try await self.sensor.read(prompt, allowingDevicePasscode: false) == .lockedOut)
        self.person.refuse(-7, -99)
        await #expect(throws: SensorError.disconnected) {
            try await self.sensor.read(prompt, allowingDevicePasscode: false)
        }
        await #expect(throws: SensorError.timedOut) {
            try await self.sensor.read(prompt, allowingDevicePasscode: false)
        }
    }

    @Test("the dialog has a way to the passcode only if the passcode is accepted")
    func fallback() async throws {
        let prompt = SystemPrompt(reason: "Sign in", fallbackTitle: "Passcode", cancelTitle: "No")
        _ = try await self.sensor.read(prompt, allowingDevicePasscode: false)
        _ = try await self.sensor.read(prompt, allowingDevicePasscode: true)
        let questions = self.person.questions
        #expect(questions.map(\.demand) == [.anyBiometry, .anyBiometryOrPasscode])
        #expect(questions.map(\.prompt.fallbackTitle) == ["", "Passcode"])
        #expect(questions.map(\.prompt.cancelTitle) == ["No", "No"])
        #expect(PersonDemand.currentBiometry.prompt(prompt).fallbackTitle == "")
        #expect(PersonDemand.passcode.prompt(prompt) == prompt)
    }

    @Test("a question of a cancelled task ends with the cancellation")
    func cancelled() async throws {
        let sensor = self.sensor
        self.person.refuse(-10)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await sensor.read(SystemPrompt(), allowingDevicePasscode: false)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("the passcode's name stays with a changed passcode, and is new after the passcode was removed")
    func passcode() async throws {
        let passcode = SystemPasscode(self.person, self.keychain, service: "app")
        let first = try #require(try await passcode.enrolment())
        #expect(first.count == 32)
        #expect(try await passcode.enrolment() == first)
        self.keychain.removePasscode()
        let second = try #require(try await passcode.enrolment())
        #expect(second != first)
        self.person.removePasscode()
        #expect(try await passcode.enrolment() == nil)
    }

    @Test("a locked device says nothing about its passcode")
    func lockedPasscode() async throws {
        let passcode = SystemPasscode(self.person, self.keychain, service: "app")
        self.keychain.answer(.interactionNotAllowed)
        await #expect(throws: SensorError.disconnected) { try await passcode.enrolment() }
        self.person.refusePasscode(-1004)
        await #expect(throws: SensorError.disconnected) { try await passcode.enrolment() }
    }

    @Test("the passcode alone answers the question for the passcode")
    func askPasscode() async throws {
        let passcode = SystemPasscode(self.person, self.keychain, service: "app")
        #expect(try await passcode.ask(SystemPrompt(reason: "Sign in")) == .match)
        #expect(self.person.questions.map(\.demand) == [.passcode])
        self.person.refuse(-1, -2, -8, -5)
        #expect(try await passcode.ask(SystemPrompt()) == .cancelled)
        #expect(try await passcode.ask(SystemPrompt()) == .cancelled)
        #expect(try await passcode.ask(SystemPrompt()) == .lockedOut)
        await #expect(throws: SensorError.disconnected) { try await passcode.ask(SystemPrompt()) }
    }
}

@Suite("Decisions 49, 132: secrets that the Keychain releases for a finger or a face")
struct GuardedKeysTests {
    private let keychain = MemoryKeychain()
    private let person = ScriptedPerson()
    private let secret = SecretBytes([4, 5, 6])

    private var keys: KeychainGuardedKeys { KeychainGuardedKeys(self.person, self.keychain, service: "app") }

    @Test(
        "a secret is released for a finger, and asking for its existence asks nobody",
        arguments: BiometricGuard.allCases)
    func released(guardian: BiometricGuard) async throws {
        #expect(try await self.keys.isEnrolled())
        #expect(try await self.keys.release("key", SystemPrompt()) == .missing)
        try await self.keys.keep(SecretBytes([1]), as: "key", guardedBy: guardian)
        try await self.keys.keep(self.secret, as: "key", guardedBy: guardian)
        #expect(try self.keys.contains("key"))
        #expect(self.person.questions.isEmpty)
        #expect(try await self.keys.release("key", SystemPrompt(reason: "Open")) == .released(self.secret))
        #expect(
            self.person.questions.map(\.demand) == [guardian == .currentSet ? .currentBiometry : .anyBiometry])
        try self.keys.remove("key")
        #expect(try !self.keys.contains("key"))
        #expect(self.keychain.count == 0)
    }

    @Test("another set ends a secret of the current set, and no secret of any set")
    func changed() async throws {
        try await self.keys.keep(self.secret, as: "current", guardedBy: .currentSet)
        try await self.keys.keep(self.secret, as: "any", guardedBy: .anySet)
        self.keychain.changeSet()
        #expect(try await self.keys.release("current", SystemPrompt()) == .changed)
        #expect(try await self.keys.release("current", SystemPrompt()) == .missing)
        #expect(try await self.keys.release("any", SystemPrompt()) == .released(self.secret))
    }

    @Test("if no finger is enrolled any more, the secret is gone and the person is not asked")
    func nobodyEnrolled() async throws {
        try await self.keys.keep(self.secret, as: "key", guardedBy: .anySet)
        self.person.enrol(nil, refusal: -7)
        #expect(try await self.keys.release("key", SystemPrompt()) == .changed)
        #expect(self.person.questions.isEmpty)
        await #expect(throws: StorageError(.unavailable, "")) {
            try await self.keys.keep(self.secret, as: "key", guardedBy: .anySet)
        }
    }

    @Test("a person who does not match or gives up loses nothing")
    func refused() async throws {
        try await self.keys.keep(self.secret, as: "key", guardedBy: .currentSet)
        self.person.refuse(-1, -2, -8, -6, -99)
        #expect(try await self.keys.release("key", SystemPrompt()) == .noMatch(hint: ""))
        #expect(try await self.keys.release("key", SystemPrompt()) == .cancelled)
        #expect(try await self.keys.release("key", SystemPrompt()) == .lockedOut)
        await #expect(throws: SensorError.disconnected) { try await self.keys.release("key", SystemPrompt()) }
        await #expect(throws: SensorError.timedOut) { try await self.keys.release("key", SystemPrompt()) }
        #expect(try await self.keys.release("key", SystemPrompt()) == .released(self.secret))
    }

    @Test("a locked Keychain is no missing secret")
    func locked() async throws {
        try await self.keys.keep(self.secret, as: "key", guardedBy: .currentSet)
        self.keychain.answer(.interactionNotAllowed)
        #expect(throws: StorageError(.locked, "")) { try self.keys.contains("key") }
        self.keychain.answer(.interactionNotAllowed)
        await #expect(throws: StorageError(.locked, "")) { try await self.keys.release("key", SystemPrompt()) }
        #expect(try self.keys.contains("key"))
    }
}
