import CountersignTestKit
import Testing
import UAF
import UAFClient

@Suite("UAF Authenticator Commands 1.1 §6.2: fingerprint and face")
struct FingerprintTests {
    private static let models = [Device.fingerprint, Device.face]

    @Test("One that does not match is asked for again with the sensor's advice", arguments: models)
    func noMatch(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model).name
        let person = TestPerson()
        try device.sensor(of: model).feel(.noMatch(hint: "too fast"), .noMatch(hint: "wet"), .match)
        _ = try await device.sign(name, person: person)
        #expect(await person.hints == [nil, "too fast", "wet"])
    }

    @Test("Each model reads its own sensor")
    func ownSensor() async throws {
        let device = try Device()
        try await device.register(Device.face)
        #expect(device.camera?.readingCount == 1 && device.sensor?.readingCount == 0)
        try await device.register(Device.fingerprint)
        #expect(device.camera?.readingCount == 1 && device.sensor?.readingCount == 1)
    }

    @Test("Cancelling at the sensor and a locked sensor end the operation", arguments: models)
    func endings(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model).name
        try device.sensor(of: model).feel(.cancelled)
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.userCancelled, ""))
        try device.sensor(of: model).feel(.lockedOut)
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.userLockout, ""))
        #expect(await device.module.registrations(appID: Device.facet).count == 1)
    }

    @Test("Other enrolled fingers or faces end the key for good", arguments: models)
    func changedFingers(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model).name
        try device.sensor(of: model).enroll(Array("another set".utf8))
        let ended = await failure { _ = try await device.sign(name) }
        #expect(ended == OperationFailure(.keyDisappearedPermanently, ""))
        #expect(ended?.asmStatus == .keyDisappearedPermanently)
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
    }

    @Test(
        "One that was enrolled while the dialog waited signs nothing: it ends the key, and makes none",
        arguments: models)
    func enrolledMeanwhile(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model).name
        let sensor = try device.sensor(of: model)
        let thief = TestPerson()
        await thief.whileAsked { sensor.enroll(Array("with the thief's".utf8)) }
        device.recognise(model)
        let ended = await failure { _ = try await device.sign(name, person: thief) }
        #expect(ended == OperationFailure(.keyDisappearedPermanently, ""))
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)

        await thief.whileAsked { sensor.enroll(Array("and another".utf8)) }
        let refused = await failure { try await device.register(model, person: thief) }
        #expect(refused == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
        #expect(sensor.readingCount == 3)
    }

    @Test("A key that survives others survives them while the dialog waits", arguments: models)
    func survivesMeanwhile(model: AuthenticatorModel) async throws {
        let device = try Device()
        let sensor = try device.sensor(of: model)
        let name = try await device.register(model, options: BiometricOptions(invalidatesOnNewBiometrics: false)).name
        let person = TestPerson()
        await person.whileAsked { sensor.enroll(Array("another set".utf8)) }
        device.recognise(model)
        #expect(try await device.sign(name, person: person).signCounter == 1)
    }

    @Test("A key that was made so survives other fingers or faces", arguments: models)
    func survivesChange(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model, options: BiometricOptions(invalidatesOnNewBiometrics: false)).name
        let again = try device.reopened()
        try again.sensor(of: model).enroll(Array("another set".utf8))
        again.recognise(model)
        #expect(try await again.sign(name).signCounter == 1)
    }

    @Test(
        "The device's passcode may stand in only where it is allowed and other fingers do not end the key",
        arguments: models)
    func passcodeFallback(model: AuthenticatorModel) async throws {
        for (invalidates, allows) in [(true, false), (true, true), (false, false), (false, true)] {
            let device = try Device()
            let options = BiometricOptions(invalidatesOnNewBiometrics: invalidates)
            let other = AuthenticatorModel(factor: model.factor, keyStore: .file, allowsPasscode: allows)
            let name = try await device.register(other, options: options).name
            #expect(name.aaid == other.aaid && (name.aaid == model.aaid) == !allows)
            let again = try device.reopened()
            again.recognise(model)
            _ = try await again.sign(name)
            let isAllowed = allows && !invalidates
            #expect(try again.sensor(of: model).passcodeAllowed == [isAllowed, isAllowed])
        }
        #expect(BiometricOptions() == BiometricOptions(invalidatesOnNewBiometrics: true))
    }

    @Test("Without anybody enrolled a registration says so, and a signature is denied", arguments: models)
    func notEnrolled(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model).name
        try device.sensor(of: model).enroll(nil)
        #expect(await failure { try await device.register(model) } == OperationFailure(.userNotEnrolled, ""))
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.authenticatorAccessDenied, ""))
        let status = await device.module.authenticators.first { $0.model == model }
        #expect(status?.isSupportedByHardware == true && status?.isUserEnrolled == false)
    }

    @Test("A device without sensors and passcode supports none of what they judge")
    func noSensor() async throws {
        let device = try Device(sensor: nil, camera: nil, systemPasscode: nil)
        let statuses = await device.module.authenticators
        #expect(statuses.filter(\.isSupportedByHardware).map(\.model.factor) == [.pin, .password, .devicePossession])
        for model in [Device.fingerprint, Device.face, Device.passcode] {
            #expect(await failure { try await device.register(model) } == OperationFailure(.userNotEnrolled, ""))
        }
    }

    @Test(
        "No answer of the person has its own code",
        arguments: [
            (UserVerificationError.cancelled, ErrorCode.userCancelled), (.notResponsive, .userNotResponsive),
            (.unavailable, .authenticatorAccessDenied),
        ])
    func noAnswer(error: UserVerificationError, code: ErrorCode) async throws {
        let device = try Device()
        for model in Device.models where model != Device.possession {
            let name = try await device.register(model).name
            let person = TestPerson(failing: error)
            #expect(await failure { _ = try await device.sign(name, person: person) } == OperationFailure(code, ""))
            let before = await device.module.registrations(appID: Device.facet).count
            #expect(await failure { try await device.register(model, person: person) } == OperationFailure(code, ""))
            #expect(await device.module.registrations(appID: Device.facet).count == before)
        }
    }
}

@Suite("UAF Authenticator Commands 1.1 §6.2: the device's passcode")
struct DevicePasscodeTests {
    @Test("The operating system is asked once at registration and once for each signature")
    func asked() async throws {
        let device = try Device()
        let person = TestPerson()
        let name = try await device.register(Device.passcode, person: person).name
        #expect(await person.passcodeQuestions == 1)
        device.systemPasscode?.answer(.match)
        #expect(try await device.sign(name, person: person).signCounter == 1)
        #expect(await person.passcodeQuestions == 2)
        #expect(await person.statuses.isEmpty)
        #expect(await person.hints.isEmpty)
    }

    @Test("One that was removed and set again while the dialog waited ends the key")
    func setAgainMeanwhile() async throws {
        let device = try Device()
        let name = try await device.register(Device.passcode).name
        let thief = TestPerson()
        let passcode = try #require(device.systemPasscode)
        await thief.whileAsked { passcode.enroll(Array("set again".utf8)) }
        device.recognise(Device.passcode)
        let ended = await failure { _ = try await device.sign(name, person: thief) }
        #expect(ended == OperationFailure(.keyDisappearedPermanently, ""))
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
    }

    @Test("Giving up there and its lock end the operation, and the key stays")
    func endings() async throws {
        let device = try Device()
        let name = try await device.register(Device.passcode).name
        device.systemPasscode?.answer(.cancelled, .lockedOut)
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.userCancelled, ""))
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.userLockout, ""))
        #expect(await device.module.registrations(appID: Device.facet).count == 1)
    }

    @Test("Without a passcode there is no registration and no signature; a new one after that ends the key")
    func removed() async throws {
        let device = try Device()
        let options = BiometricOptions(invalidatesOnNewBiometrics: false)
        let name = try await device.register(Device.passcode, options: options).name
        device.systemPasscode?.enroll(nil)
        #expect(await failure { try await device.register(Device.passcode) } == OperationFailure(.userNotEnrolled, ""))
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.authenticatorAccessDenied, ""))
        let status = await device.module.authenticators.first { $0.model == Device.passcode }
        #expect(status?.isSupportedByHardware == true && status?.isUserEnrolled == false)
        device.systemPasscode?.enroll(Array("set again".utf8))
        #expect(
            await failure { _ = try await device.sign(name) } == OperationFailure(.keyDisappearedPermanently, ""))
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
    }
}
