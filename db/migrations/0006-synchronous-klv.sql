UPDATE pipelines SET klv_config = json_set(klv_config, '$.synchronous', json('false'));
