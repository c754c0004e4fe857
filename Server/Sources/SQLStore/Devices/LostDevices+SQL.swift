public import Records
import _Primitives

extension SQLStore: LostDeviceStore {
    public func restDevice(_ report: LostDeviceReport) async throws -> Bool {
        try await self.step(
            Step(
                "device.rest", guards: [.exclusive(.account, id: report.accountID)], isolation: .readCommitted),
            on: { db in
                try RestedDeviceRows(db).phone(of: report.deviceID, accountID: report.accountID)?.resting
            }
        ) { [sealing] db, devices in
            try RestedDeviceRows(db).rest(devices, accountID: report.accountID, at: report.audit.at, sealing)
            try RestedDeviceRows(db).tell(report, sealing)
            return report.audit
        }
    }

    public func returnDevice(_ report: LostDeviceReport) async throws -> Bool {
        try await self.step(
            Step(
                "device.return", guards: [.exclusive(.account, id: report.accountID)], isolation: .readCommitted),
            on: { db in
                try RestedDeviceRows(db).phone(of: report.deviceID, accountID: report.accountID)?
                    .returning(byOperator: report.isByOperator)
            }
        ) { [sealing] db, devices in
            try RestedDeviceRows(db).wake(devices)
            try RestedDeviceRows(db).tell(report, sealing)
            return report.audit
        }
    }
}
