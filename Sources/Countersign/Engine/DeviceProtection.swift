import UAFClient

extension DevicePlatform {
    /// Returns `true` if the device has a passcode, or if the platform cannot report passcodes.
    ///
    /// A failure of the sensor counts as no passcode. Throws the other errors of `devicePasscode`.
    func hasDeviceLock() async throws -> Bool {
        guard let passcode = self.devicePasscode else { return true }
        do { return try await passcode.enrolment() != nil } catch is SensorError { return false }
    }
}

extension SecurityInspection {
    /// Inspects the device, and returns the reason why the device is not secure, for the log; `nil` if the device is
    /// secure. A failed inspection is a reason.
    func flaw() async -> String? {
        guard let findings = try? await self.inspect() else { return "the inspection failed" }
        if findings.isRooted { return "the operating system's protection was removed" }
        if findings.isHooked { return "foreign code has reached into the app" }
        return nil
    }
}
