import Accounts
import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import HTTPTypes
import HummingbirdTesting
import Passwords
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("A lost device is reported by a fresh sign-in and comes back by another way (decision 128, row 99)")
struct OwnDeviceTests {
    /// Alice with a phone, and with a password and an authenticator app beside the phone.
    private struct Place: Sendable {
        let passwords: PasswordPlace
        let phone: VirtualPhone
        let totp: TOTP
        /// A service that takes phones alone.
        let phoneParty: RelyingParty

        static func run(_ body: @escaping @Sendable (Place) async throws -> Void) async throws {
            try await PasswordPlace.run { passwords in
                let phone = try await passwords.server.enrolledPhone(passwords.client, isNew: false)
                let (totp, _) = try await passwords.giveSecondFactor()
                let party = try await passwords.server.relyingParty(signInMethods: ["phone"])
                try await body(Place(passwords: passwords, phone: phone, totp: totp, phoneParty: party))
            }
        }

        var browser: TestBrowser { self.passwords.browser }

        /// A code of the app that was not used yet.
        func code() throws -> String {
            self.passwords.server.clock.advance(by: .seconds(90))
            return try #require(self.totp.code(at: self.passwords.server.clock.timeSource.now()))
        }

        /// Signs in by the password and a code.
        func signIn() async throws {
            let request = try await self.passwords.begin()
            _ = try await self.passwords.show(PasswordPlace.password, request)
            let right = try await self.passwords.post(
                "/sign-in/code", ["request": request, "code": try self.code()])
            _ = try await self.browser.get(try PasswordPlace.next(after: right))
        }

        func device() async throws -> DeviceRecord {
            let account = try await self.passwords.server.assembly.directory.account(username: "alice")
            return try #require(
                try await self.passwords.server.assembly.directory.devices(username: account.reference).first)
        }

        /// `true` if the phone signs another browser in.
        func phoneSignsIn() async throws -> Bool {
            let browser = TestBrowser(self.passwords.client)
            let (_, page) = try await self.passwords.server.signInPage(browser, self.phoneParty)
            do {
                _ = try await self.phone.authenticate(try self.passwords.server.typedPayload(page))
                return true
            } catch { return false }
        }

        /// Sends the form of a question about the device.
        func answer(_ path: String) async throws -> TestResponse {
            let page = try await self.browser.get("\(path)?device=\(try await self.device().id)")
            #expect(page.status == .ok)
            return try await self.browser.post(path, form: page.hiddenFields)
        }
    }

    @Test("A fresh sign-in by two factors reports it: it signs nobody in, is not deleted, and everybody is told")
    func report() async throws {
        try await Place.run { place in
            try await place.passwords.enter()
            _ = try await place.passwords.sendMail()
            try await place.signIn()
            let id = try await place.device().id
            #expect(try await place.phoneSignsIn())
            let list = try await place.browser.get("/account/devices")
            #expect(list.text.contains("I have lost this device") && list.text.contains(id))
            let before = place.passwords.server.mail.messages.count
            #expect(try await place.answer("/account/devices/lost").status == .ok)
            #expect(try await place.device().standing.restedAt != nil)
            #expect(try await !place.phoneSignsIn())
            #expect(try await place.browser.get("/account/devices").text.contains("Reported as lost"))
            let account = try await place.passwords.server.assembly.directory.account(username: "alice").id
            let notices = try await place.passwords.server.assembly.directory.notices(accountID: account)
            #expect(notices.contains { $0.kind.name == "device-rested" })
            _ = try await place.passwords.sendMail()
            let letters = place.passwords.server.mail.messages.dropFirst(before).map(CaughtMail.text)
            #expect(letters.contains { $0.contains("was reported as lost") && $0.contains("/account/devices") })
            #expect(try await place.passwords.trail().contains("device-rested"))
            // A second report finds nothing to do.
            let again = try await place.browser.get("/account/devices/lost?device=\(id)")
            #expect(again.status == .notFound)
        }
    }

    @Test("Nobody reports without a sign-in, by a stale one, by one factor, by a forged form, or another's device")
    func refusals() async throws {
        try await Place.run { place in
            let id = try await place.device().id
            let path = "/account/devices/lost?device=\(id)"
            #expect(try await place.browser.get(path).status == .forbidden)
            #expect(try await place.browser.get("/account/devices").status == .forbidden)
            try await place.signIn()
            let page = try await place.browser.get(path)
            let forged = try await place.passwords.post(
                "/account/devices/lost", ["device": id, "confirmation": "forged"])
            #expect(forged.status == .badRequest)
            let unknown = try await place.passwords.post(
                "/account/devices/lost",
                ["device": "AAAAAAAAAAAAAAAAAAAAAA", "confirmation": PasswordPlace.hidden("confirmation", page)])
            #expect(unknown.status == .notFound)
            place.passwords.server.clock.advance(by: Limits().freshSignIn)
            #expect(try await place.browser.get(path).status == .forbidden)
            #expect(try await place.browser.post("/account/devices/lost", form: page.hiddenFields).status == .forbidden)
            #expect(try await place.device().standing.restedAt == nil)
        }
        try await PasswordPlace.run { place in
            _ = try await place.server.enrolledPhone(place.client, isNew: false)
            let request = try await place.begin()
            let right = try await place.show(PasswordPlace.password, request)
            _ = try await place.browser.get(try PasswordPlace.next(after: right))
            let account = try await place.server.assembly.directory.account(username: "alice")
            let device = try #require(
                try await place.server.assembly.directory.devices(username: account.reference).first)
            let page = try await place.browser.get("/account/devices/lost?device=\(device.id)")
            #expect(page.status == .forbidden, "one factor")
        }
    }

    @Test("A phone that rests leaves the account as strong as it was: the password confirms no other change")
    func restedPhoneCounts() async throws {
        try await Place.run { place in
            try await place.signIn()
            #expect(try await place.answer("/account/devices/lost").status == .ok)
            for path in ["/account/password", "/account/second-factor", "/account/recovery-codes"] {
                let page = try await place.browser.get(path)
                #expect(page.status == .ok && page.text.contains("Confirm on your phone"), "\(path)")
                #expect(!page.text.contains("new-password"), "\(path)")
            }
        }
    }

    @Test("Without another phone the password and a code take it back; it then signs in, and everybody is told")
    func takenBack() async throws {
        try await Place.run { place in
            try await place.signIn()
            #expect(try await place.answer("/account/devices/lost").status == .ok)
            let asked = try await place.answer("/account/devices/return")
            let waiting = try #require(asked.headers[.location])
            let reference = String(try #require(waiting.split(separator: "=").last))
            #expect(try await place.device().standing.restedAt != nil, "nothing before the confirmation")
            let form = try await place.browser.get("/account/change/password?request=\(reference)")
            #expect(form.text.contains("let the lost device"))
            let right = try await place.passwords.post(
                "/account/change/password",
                [
                    "request": reference, "confirmation": PasswordPlace.hidden("confirmation", form),
                    "password": PasswordPlace.password, "code": try place.code(),
                ])
            let complete = try await place.browser.get(try #require(right.headers[.location]))
            let page = try await place.browser.get(try #require(complete.headers[.location]))
            #expect(page.hiddenFields.contains("change="))
            let done = try await place.browser.post("/account/devices/return", form: page.hiddenFields)
            #expect(done.status == .ok && done.text.contains("is in use again"))
            #expect(try await place.device().standing.restedAt == nil)
            #expect(try await place.phoneSignsIn())
            let account = try await place.passwords.server.assembly.directory.account(username: "alice").id
            let notices = try await place.passwords.server.assembly.directory.notices(accountID: account)
            #expect(notices.contains { $0.kind.name == "device-returned" })
        }
    }

    @Test("An operator lets a device rest and gives it back, once each")
    func byOperator() async throws {
        try await Place.run { place in
            let lost = LostDevices(place.passwords.server.assembly.passwords)
            let device = try await place.device()
            #expect(try await lost.report(device.id, accountID: device.accountID, by: "carol"))
            #expect(try await !lost.report(device.id, accountID: device.accountID, by: "carol"))
            #expect(try await !place.phoneSignsIn())
            #expect(try await !lost.bringBack(device.id, accountID: "another", by: "carol"))
            #expect(try await lost.bringBack(device.id, accountID: device.accountID, by: "carol"))
            #expect(try await !lost.bringBack(device.id, accountID: device.accountID, by: "carol"))
            #expect(try await place.phoneSignsIn())
            let events = try await place.passwords.server.database.auditEntries(after: 0, limit: 999).map(\.event)
            for kind in [AuditEvent.Kind.deviceRested, .deviceReturned] {
                #expect(events.filter { $0.kind == kind }.map(\.actor) == ["carol"])
            }
        }
    }
}
